// Written by `python scripts/inspector_types.py` from innkeeper.service.inspector.views; change that.

export type Kind = "character" | "chat" | "lorebook" | "other" | "persona" | "preset" | "profile" | "request";

/** Why something was not done: a kind of error, a sentence, how to mend it, and where. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly where: string | null;
}

/** Something to know about a place in a file, or about the prompt. ``fix`` is an edit that mends it, where one is safe. */
export interface Finding {
  readonly severity: "error" | "note" | "warning";
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly file: string | null;
  readonly path: readonly (string | number)[];
  readonly fix: Edit | null;
}

/** One change of a working copy: the ``value`` at ``path``, or with ``remove`` nothing there. */
export interface Edit {
  readonly file: string;
  readonly path: readonly (string | number)[];
  readonly value?: unknown;
  readonly remove?: boolean;
  readonly insert?: boolean;
}

/** A file of the workspace. ``bytes`` as saved, ``used`` by the settings, ``changed`` since it was saved. */
export interface FileView {
  readonly id: string;
  readonly name: string;
  readonly kind: Kind;
  readonly bytes: number;
  readonly used: boolean;
  readonly changed: boolean;
  readonly writable: boolean;
  readonly picture: boolean;
  readonly findings: readonly Finding[];
}

/** What is built beside the files. ``used`` are ids of files; ``turn`` cuts the chat after so many messages of it. */
export interface SettingsView {
  readonly tavern: string;
  readonly profile: string | null;
  readonly model: string | null;
  readonly context_window: number | null;
  readonly reserve: number | null;
  readonly seed: number;
  readonly now: string;
  readonly message: string | null;
  readonly turn: number | null;
  readonly persona: string | null;
  readonly used: readonly string[];
}

/** Some of the settings: those that are not left out. */
export interface SettingsPatch {
  readonly tavern?: string;
  readonly profile?: string | null;
  readonly model?: string | null;
  readonly context_window?: number | null;
  readonly reserve?: number | null;
  readonly seed?: number;
  readonly now?: string;
  readonly message?: string | null;
  readonly turn?: number | null;
  readonly persona?: string | null;
  readonly used?: readonly string[];
}

/** What is open. ``turns``: messages of the chat; ``library`` and ``talk``: whether those rooms are there. */
export interface Workspace {
  readonly title: string;
  readonly files: readonly FileView[];
  readonly settings: SettingsView;
  readonly taverns: readonly string[];
  readonly dialects: readonly string[];
  readonly turns: number;
  readonly library: boolean;
  readonly talk: boolean;
  readonly profiles: readonly string[];
  readonly formats: Readonly<Record<string, readonly string[]>>;
  readonly routes: readonly string[];
}

/** A working copy: its document, or its text where that is no JSON. */
export interface FileContent {
  readonly file: FileView;
  readonly document: unknown;
  readonly text: string | null;
}

/** The file after it was reverted. */
export interface FileReply {
  readonly file: FileView;
}

/** What saving would change: the document as saved and as edited, indented. */
export interface Changes {
  readonly before: string;
  readonly after: string;
}

/** The file after it was saved; ``backup`` is the name of the original, kept beside it. */
export interface Saved {
  readonly file: FileView;
  readonly backup: string | null;
}

/** Where text came from: a kind of asset, and where it is known the place in a file. ``colour`` is 0 to 11. */
export interface Origin {
  readonly file: string | null;
  readonly asset: string;
  readonly path: readonly (string | number)[];
  readonly label: string;
  readonly colour: number;
}

/** A run of text and its origin, an index into the table of origins. */
export interface Piece {
  readonly text: string;
  readonly origin: number | null;
}

/** The budget in tokens. ``window`` is 0 where there is none; ``error_percent`` is how far an estimate may be off. */
export interface Tokens {
  readonly used: number;
  readonly reserved: number;
  readonly free: number;
  readonly window: number;
  readonly exact: boolean;
  readonly tokenizer: string;
  readonly error_percent: number | null;
  readonly fits: boolean;
}

/** The tokens of one budget group. */
export interface TokenGroup {
  readonly name: string;
  readonly tokens: number;
}

/** A message as the model gets it. ``depth`` counts from the end of the chat. */
export interface MessageView {
  readonly index: number;
  readonly id: string;
  readonly role: string;
  readonly name: string | null;
  readonly slot: string | null;
  readonly group: string;
  readonly tokens: number;
  readonly share: number;
  readonly depth: number | null;
  readonly pieces: readonly Piece[];
  readonly attachments: readonly string[];
}

/** The scan of the lorebooks: its budget in tokens, whether entries did not fit, and how often the texts were searched. */
export interface LoreView {
  readonly budget: number | null;
  readonly overflowed: boolean;
  readonly passes: number;
}

/** Where a key matched: in a message of the chat (its index from 0, None: the one being written), or in another text. */
export interface KeyMatch {
  readonly where: "chat" | "other";
  readonly message: number | null;
  readonly start: number;
  readonly end: number;
}

/** The inclusion group that an entry was in, and who won it and how. */
export interface GroupContest {
  readonly name: string;
  readonly winner: string | null;
  readonly how: string | null;
}

/** What was rolled against an entry's probability in per cent. */
export interface Roll {
  readonly value: number | null;
  readonly probability: number | null;
}

/** A timed effect: until which message of the chat it lasts. */
export interface TimedEffect {
  readonly effect: "cooldown" | "delay" | "sticky";
  readonly until: number | null;
}

/** Why an entry is in the prompt or the first rule that kept it out. ``index`` is its place among the verdicts. */
export interface Verdict {
  readonly id: string;
  readonly file: string | null;
  readonly path: readonly (string | number)[];
  readonly index: number;
  readonly book: string;
  readonly uid: string | number;
  readonly title: string;
  readonly fired: boolean;
  readonly reason: string;
  readonly text: string;
  readonly key: string | null;
  readonly at: KeyMatch | null;
  readonly pass: number | null;
  readonly group: GroupContest | null;
  readonly roll: Roll | null;
  readonly timed: TimedEffect | null;
  readonly tokens: number | null;
  readonly position: string | null;
  readonly order: number | null;
}

/** Something that was left out to fit the window, and by which rule. */
export interface Trim {
  readonly id: string;
  readonly group: string;
  readonly tokens: number;
  readonly rule: string;
  readonly text: string;
}

/** A prompt and why it is as it is. */
export interface Inspection {
  readonly fingerprint: string;
  readonly tavern: string;
  readonly profile: string | null;
  readonly model: string | null;
  readonly turns: number;
  readonly tokens: Tokens;
  readonly groups: readonly TokenGroup[];
  readonly origins: readonly Origin[];
  readonly messages: readonly MessageView[];
  readonly lore: LoreView;
  readonly verdicts: readonly Verdict[];
  readonly trims: readonly Trim[];
  readonly notes: readonly Finding[];
}

/** The messages as they differ from those before: how many there are, and those that are others, by index. */
export interface MessageChanges {
  readonly length: number;
  readonly changed: Readonly<Record<string, MessageView>>;
}

/** The verdicts as they differ from those before: how many there are, and those that are others, by index. */
export interface VerdictChanges {
  readonly length: number;
  readonly changed: Readonly<Record<string, Verdict>>;
}

/** An inspection after the first of a connection: long lists may come as what changed in them. */
export interface InspectionUpdate {
  readonly fingerprint: string;
  readonly tavern: string;
  readonly profile: string | null;
  readonly model: string | null;
  readonly turns: number;
  readonly tokens: Tokens;
  readonly groups: readonly TokenGroup[];
  readonly origins: readonly Origin[];
  readonly lore: LoreView;
  readonly trims: readonly Trim[];
  readonly notes: readonly Finding[];
  readonly messages?: readonly MessageView[];
  readonly verdicts?: readonly Verdict[];
  readonly messages_changed?: MessageChanges;
  readonly verdicts_changed?: VerdictChanges;
}

/** What the page changes. ``serial`` comes back with the answer; a request that a later one overtook has none. */
export interface LiveRequest {
  readonly serial: number;
  readonly edits?: readonly Edit[];
  readonly settings?: SettingsPatch;
}

/** The newest state, and how long it took. ``files`` are those whose state or findings are others than last told. */
export interface LiveReply {
  readonly serial: number;
  readonly took_ms: number;
  readonly inspection: InspectionUpdate;
  readonly files: readonly FileView[];
}

/** Why there is no inspection of the newest state. */
export interface LiveFailure {
  readonly serial: number;
  readonly error: Problem;
  readonly files: readonly FileView[];
}

/** Files of which more is known now: findings that are looked for while nobody types. */
export interface LiveFiles {
  readonly serial: number;
  readonly files: readonly FileView[];
}

/** Characters of the pretty body, and the origin of their text. */
export interface WireRange {
  readonly start: number;
  readonly end: number;
  readonly origin: number;
}

/** What a provider gets: the body, ``text`` where the dialect makes one text, and how to send it by hand. */
export interface Wire {
  readonly dialect: string;
  readonly body: unknown;
  readonly text: string | null;
  readonly pretty: string;
  readonly lost: readonly Finding[];
  readonly stop: readonly string[];
  readonly fingerprint: string;
  readonly ranges: readonly WireRange[];
  readonly origins: readonly Origin[];
  readonly curl: string;
  readonly python: string;
}

/** The workspace with other settings; with ``saved``, its files as they were saved and not as edited. */
export interface Variation {
  readonly settings?: SettingsPatch;
  readonly saved?: boolean;
}

/** The two that are compared. */
export interface CompareRequest {
  readonly a: Variation;
  readonly b: Variation;
}

/** A message in both, or in one of the two. */
export interface MessagePair {
  readonly index_a: number | null;
  readonly index_b: number | null;
  readonly kind: "added" | "changed" | "removed" | "same";
  readonly a: string | null;
  readonly b: string | null;
  readonly tokens_a: number;
  readonly tokens_b: number;
  readonly role: string;
}

/** Used tokens of both. */
export interface PairTokens {
  readonly a: number;
  readonly b: number;
}

/** An entry that is in one of the two prompts only, and the reasons; none where the entry is not there at all. */
export interface VerdictPair {
  readonly id: string;
  readonly title: string;
  readonly a: string | null;
  readonly b: string | null;
}

/** Tokens of b that a provider's cache of a still holds, and those that it must read again. */
export interface CacheCost {
  readonly common_tokens: number;
  readonly broken_tokens: number;
}

/** Two prompts side by side. */
export interface Comparison {
  readonly same: boolean;
  readonly messages: readonly MessagePair[];
  readonly tokens: PairTokens;
  readonly verdicts: readonly VerdictPair[];
  readonly cache: CacheCost;
}

/** Send the prompt, with ``message`` in place of the settings' own; ``route`` names who answers, None the usual one. */
export interface TalkRequest {
  readonly message?: string | null;
  readonly route?: string | null;
}

/** Text of an answer as it comes. */
export interface TalkDelta {
  readonly text: string;
}

/** A whole answer, and the plan that made it. */
export interface TalkEnd {
  readonly message: string;
  readonly plan: Inspection;
}
