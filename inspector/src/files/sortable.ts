/** A list whose rows are dragged by a handle, or moved by Alt with the arrow keys while the handle has the focus. */

import type { Attachment } from "svelte/attachments";

export interface Sortable {
  /** A row went from one index to another. */
  readonly onmove: (from: number, to: number) => void;
}

const indexOf = (row: Element): number => Number((row as HTMLElement).dataset["sort"]);

export function sortable({ onmove }: Sortable): Attachment<HTMLElement> {
  return (list) => {
    const rows = (): HTMLElement[] => [...list.querySelectorAll<HTMLElement>("[data-sort]")];
    const rowOf = (target: EventTarget | null): HTMLElement | null =>
      target instanceof Element && target.closest("[data-handle]") ? target.closest<HTMLElement>("[data-sort]") : null;

    function down(event: PointerEvent): void {
      const row = rowOf(event.target);
      if (!row || event.button !== 0) return;
      event.preventDefault();
      (event.target as HTMLElement).setPointerCapture(event.pointerId);
      const from = indexOf(row);
      let to = from;
      row.dataset["dragged"] = "";
      const over = (moved: PointerEvent): void => {
        for (const other of rows()) {
          const box = other.getBoundingClientRect();
          const inside = moved.clientY >= box.top && moved.clientY < box.bottom;
          delete other.dataset["over"];
          if (!inside) continue;
          to = indexOf(other);
          if (to !== from) other.dataset["over"] = to > from ? "after" : "before";
        }
      };
      const end = (): void => {
        list.removeEventListener("pointermove", over);
        list.removeEventListener("pointerup", end);
        list.removeEventListener("pointercancel", end);
        delete row.dataset["dragged"];
        for (const other of rows()) delete other.dataset["over"];
        if (to !== from) onmove(from, to);
      };
      list.addEventListener("pointermove", over);
      list.addEventListener("pointerup", end);
      list.addEventListener("pointercancel", end);
    }

    function key(event: KeyboardEvent): void {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const row = rowOf(event.target);
      if (!event.altKey || by === undefined || !row) return;
      event.preventDefault();
      event.stopPropagation();
      const to = indexOf(row) + by;
      if (to < 0) return;
      onmove(indexOf(row), to);
      requestAnimationFrame(() => list.querySelector<HTMLElement>(`[data-sort="${to}"] [data-handle]`)?.focus());
    }

    list.addEventListener("pointerdown", down);
    list.addEventListener("keydown", key);
    return () => {
      list.removeEventListener("pointerdown", down);
      list.removeEventListener("keydown", key);
    };
  };
}
