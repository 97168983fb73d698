/** What is looked at stays where it is while a list changes. */

const NEAR_PX = 2;

/**
 * Keep the end of a scrolled element in view, for whoever has gone there, while what is in it or the element itself changes its size.
 *
 * With `begins` it is at its end before anybody scrolled.
 */
export function holdEnd(scroller: HTMLElement, content: Element, begins: boolean): () => void {
  const isEnd = (): boolean =>
    scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop <= NEAR_PX && (begins || scroller.scrollTop > 0);
  let end = begins || isEnd();
  let [whole, room] = [scroller.scrollHeight, scroller.clientHeight];

  // Where sizes are others than last seen, it was not a person who moved it.
  const scrolled = (): void => {
    if (whole === scroller.scrollHeight && room === scroller.clientHeight) end = isEnd();
  };
  const resized = new ResizeObserver(() => {
    if (end) scroller.scrollTop = scroller.scrollHeight;
    [whole, room] = [scroller.scrollHeight, scroller.clientHeight];
  });
  resized.observe(scroller);
  resized.observe(content);
  scroller.addEventListener("scroll", scrolled, { passive: true });
  return () => {
    resized.disconnect();
    scroller.removeEventListener("scroll", scrolled);
  };
}

/** An item, and how far above the upper edge it begins. */
export interface Anchor {
  readonly key: string | number;
  readonly above: number;
}

/** What has to be scrolled for an item to be where it was, by where the items begin now; 0 where it is there or is gone. */
export function drift(anchor: Anchor | null, offset: number, start: (key: string | number) => number | undefined): number {
  const now = anchor && start(anchor.key);
  return now === null || now === undefined ? 0 : now + anchor!.above - offset;
}
