// Written by `python scripts/inspector_types.py` from innkeeper.service.inspector.views; change that.

export type Kind = "character" | "chat" | "lorebook" | "other" | "persona" | "preset" | "profile" | "request";

/** What to open: a character by the name of its file or a group by its id, and one of its chats; else what was open last. */
export interface InstallChoice {
  readonly character?: string | null;
  readonly group?: string | null;
  readonly chat?: string | null;
  readonly presets?: readonly string[];
  readonly books?: readonly string[];
}

/** What is open: who speaks, by name and by file or id, in which chat, and what was chosen for it. */
export interface InstallView {
  readonly name: string;
  readonly speaker: string;
  readonly chat: string;
  readonly is_new: boolean;
  readonly choice: InstallChoice;
}

/** A character by its file, or a group by its id, with the chats; ``is_active``: it was open last in SillyTavern. */
export interface InstalledSpeaker {
  readonly id: string;
  readonly name: string;
  readonly chats: readonly string[];
  readonly is_group: boolean;
  readonly is_active: boolean;
}

/** A lorebook, and for what it counts in the chat that is open: for nothing where there is no scope. */
export interface InstalledBook {
  readonly name: string;
  readonly scopes: readonly string[];
}

/** A preset or template, and its folder. */
export interface InstalledPreset {
  readonly name: string;
  readonly folder: string;
  readonly is_selected: boolean;
}

/** What there is to choose from. */
export interface InstallContents {
  readonly speakers: readonly InstalledSpeaker[];
  readonly books: readonly InstalledBook[];
  readonly presets: readonly InstalledPreset[];
}

/** Why something was not done: a kind of error, a sentence, how to mend it, and where. */
export interface ProblemView {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly where: string | null;
}

/** Something to know about a place in a file, or about the prompt. ``fix`` is an edit that mends it, where one is safe. */
export interface FindingView {
  readonly severity: "error" | "note" | "warning";
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly file: string | null;
  readonly path: readonly (string | number)[];
  readonly fix: Edit | null;
  readonly where: string | null;
  readonly line: number | null;
  readonly column: number | null;
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
  readonly parts: readonly string[];
  readonly findings: readonly FindingView[];
  readonly conflict: boolean;
}

/** What is built beside the files. ``used`` are ids of files; ``turn`` cuts the chat after so many messages of it. */
export interface SettingsView {
  readonly tavern: string;
  readonly profile: string | null;
  readonly dialect: string | null;
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
export interface SettingsChange {
  readonly tavern?: string;
  readonly profile?: string | null;
  readonly dialect?: string | null;
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

/** The workspace with other settings; with ``saved``, its files as they were saved and not as edited. */
export interface Variation {
  readonly settings?: SettingsChange;
  readonly saved?: boolean;
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
  readonly install: InstallView | null;
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

/** A place that both have changed: its value here and on the disk; null where there is none. */
export interface ConflictField {
  readonly path: readonly (string | number)[];
  readonly mine: unknown;
  readonly theirs: unknown;
}

/** What both have changed, and how many other places each has. ``readable``: whether the file on the disk can be merged. */
export interface Conflict {
  readonly fields: readonly ConflictField[];
  readonly mine: number;
  readonly theirs: number;
  readonly readable: boolean;
}

/** How a conflict ends: all of theirs, all of mine, or both, where ``mine`` lists the fields that are taken from here. */
export interface ConflictEnd {
  readonly take: "merge" | "mine" | "theirs";
  readonly mine: readonly (readonly (string | number)[])[];
}

/** Entries of a file that are to be put into the lorebook of another, ``to``. */
export interface EntriesCopy {
  readonly file: string;
  readonly paths: readonly (readonly (string | number)[])[];
  readonly to: string;
}

/** The edits that do it; they are for whoever asked to make. */
export interface EntryEdits {
  readonly edits: readonly Edit[];
}

/** The file after it was saved; ``backup`` is the name of the original, kept beside it. */
export interface Saved {
  readonly file: FileView;
  readonly backup: string | null;
}

/** Where text came from: a kind of asset, and where it is known the place in a file. ``colour`` is 0 to 11. */
export interface OriginView {
  readonly file: string | null;
  readonly asset: string;
  readonly path: readonly (string | number)[];
  readonly label: string;
  readonly colour: number;
}

/** A run of text and its origin, an index into the table of origins. */
export interface PieceView {
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
  readonly depth: number | null;
  readonly pieces: readonly PieceView[];
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
export interface VerdictView {
  readonly id: string;
  readonly file: string | null;
  readonly path: readonly (string | number)[];
  readonly index: number;
  readonly book: string;
  readonly uid: string | number;
  readonly title: string;
  readonly fired: boolean;
  readonly reason: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly remark: string;
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

/** Something that was left out to fit the window, and by which rule; ``role`` says it. */
export interface Trim {
  readonly id: string;
  readonly group: string;
  readonly tokens: number;
  readonly rule: string;
  readonly text: string;
  readonly role: string;
  readonly before: number | null;
}

/** What a prompt came to: all but the long lists of what is in it. ``stop``: at which texts an answer ends. */
export interface InspectionFacts {
  readonly fingerprint: string;
  readonly tavern: string;
  readonly profile: string | null;
  readonly model: string | null;
  readonly dialect: string;
  readonly turns: number;
  readonly tokens: Tokens;
  readonly groups: readonly TokenGroup[];
  readonly lore: LoreView;
  readonly stop: readonly string[];
  readonly notes: readonly FindingView[];
}

/** A prompt and why it is as it is. */
export interface InspectionView {
  readonly fingerprint: string;
  readonly tavern: string;
  readonly profile: string | null;
  readonly model: string | null;
  readonly dialect: string;
  readonly turns: number;
  readonly tokens: Tokens;
  readonly groups: readonly TokenGroup[];
  readonly lore: LoreView;
  readonly stop: readonly string[];
  readonly notes: readonly FindingView[];
  readonly origins: readonly OriginView[];
  readonly messages: readonly MessageView[];
  readonly verdicts: readonly VerdictView[];
  readonly trims: readonly Trim[];
}

/** A text of which a step has replaced the macros, and the stage of the order of evaluation. */
export interface StepText {
  readonly stage: string;
  readonly text: string;
}

/** A step of a build: its milliseconds, the texts that it wrote, what it counted, and what it warned of. */
export interface StepView {
  readonly name: string;
  readonly own_ms: number;
  readonly texts: readonly StepText[];
  readonly counts: Readonly<Record<string, number>>;
  readonly warnings: readonly string[];
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
  readonly lost: readonly FindingView[];
  readonly stop: readonly string[];
  readonly fingerprint: string;
  readonly ranges: readonly WireRange[];
  readonly text_ranges: readonly WireRange[];
  readonly origins: readonly OriginView[];
  readonly address: string;
  readonly lacks_model: boolean;
  readonly curl: string;
  readonly python: string;
  readonly javascript: string;
}

/** So many turns before one, by its number from 0; None: the last. ``provider``: whose cache; empty: the usual one. */
export interface TimelineRequest {
  readonly before?: number | null;
  readonly count?: number;
  readonly provider?: string;
}

/** An entry at one turn: whether it is in, its reason, and the facts of the page's sentence for it. */
export interface TurnEntryView {
  readonly book: string;
  readonly uid: string | number;
  readonly title: string;
  readonly fired: boolean;
  readonly reason: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** The tokens of a prompt whose text came from a kind of asset, and its colour. */
export interface AssetTokens {
  readonly asset: string;
  readonly colour: number;
  readonly tokens: number;
}

/** One turn: the index of the user's message in the chat, and the prompt's tokens, in all and by where its text came from. */
export interface TurnView {
  readonly message: number;
  readonly tokens: number;
  readonly window: number | null;
  readonly assets: readonly AssetTokens[];
  readonly left_out: number;
  readonly entries: readonly TurnEntryView[];
  readonly shared: number;
  readonly read: number;
  readonly why: string | null;
  readonly mend: string | null;
}

/** Some turns of ``total``, from number ``first`` on. ``providers`` are those whose caches are known. */
export interface TimelineView {
  readonly first: number;
  readonly total: number;
  readonly provider: string;
  readonly providers: readonly string[];
  readonly turns: readonly TurnView[];
}

/** The messages as they differ from those before: how many there are, and those that are others, by index. */
export interface MessageChanges {
  readonly length: number;
  readonly changed: Readonly<Record<string, MessageView>>;
}

/** The verdicts as they differ from those before: how many there are, and those that are others, by index. */
export interface VerdictChanges {
  readonly length: number;
  readonly changed: Readonly<Record<string, VerdictView>>;
}

/** The table of origins as it differs from the one before: how many there are, and those that are others, by index. */
export interface OriginChanges {
  readonly length: number;
  readonly changed: Readonly<Record<string, OriginView>>;
}

/** What was left out as it differs from what was before: how much there is, and what is other, by index. */
export interface TrimChanges {
  readonly length: number;
  readonly changed: Readonly<Record<string, Trim>>;
}

/** An inspection after the first of a connection: long lists may come as what changed in them. */
export interface InspectionUpdate {
  readonly fingerprint: string;
  readonly tavern: string;
  readonly profile: string | null;
  readonly model: string | null;
  readonly dialect: string;
  readonly turns: number;
  readonly tokens: Tokens;
  readonly groups: readonly TokenGroup[];
  readonly lore: LoreView;
  readonly stop: readonly string[];
  readonly notes: readonly FindingView[];
  readonly messages?: readonly MessageView[];
  readonly verdicts?: readonly VerdictView[];
  readonly origins?: readonly OriginView[];
  readonly trims?: readonly Trim[];
  readonly messages_changed?: MessageChanges;
  readonly verdicts_changed?: VerdictChanges;
  readonly origins_changed?: OriginChanges;
  readonly trims_changed?: TrimChanges;
}

/** What the page changes. ``serial`` comes back with the answer; a request that a later one overtook has none. */
export interface LiveRequest {
  readonly serial: number;
  readonly edits?: readonly Edit[];
  readonly settings?: SettingsChange;
}

/** What another page of the workspace changed. ``reload``: more than edits and settings; ask for the workspace again. */
export interface SharedChange {
  readonly edits?: readonly Edit[];
  readonly settings?: SettingsChange;
  readonly reload?: boolean;
}

/** A change that comes without being asked for; the prompt with it is to be asked for. */
export interface LiveShared {
  readonly shared: SharedChange;
}

/** The newest state, and how long it took. ``files`` are those whose state or findings are others than last told. */
export interface LiveReply {
  readonly serial: number;
  readonly took_ms: number;
  readonly inspection: InspectionUpdate;
  readonly files: readonly FileView[];
  readonly settings: SettingsChange;
}

/** Why there is no inspection of the newest state. */
export interface LiveFailure {
  readonly serial: number;
  readonly error: ProblemView;
  readonly files: readonly FileView[];
}

/** Files of which more is known now: findings that are looked for while nobody types. */
export interface LiveFiles {
  readonly serial: number;
  readonly files: readonly FileView[];
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

/** A route: its model, and what a request to it may say. */
export interface TalkModel {
  readonly name: string;
  readonly provider: string;
  readonly model: string;
  readonly dialect: string;
  readonly window: number | null;
  readonly options: readonly string[];
  readonly tools: boolean;
  readonly schema: boolean;
}

/** Send the prompt, with ``message`` in place of the settings' own; ``route`` names who answers, None the usual one. */
export interface TalkRequest {
  readonly message?: string | null;
  readonly route?: string | null;
  readonly variation?: Variation;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly tools?: readonly (Readonly<Record<string, unknown>>)[];
  readonly instructions?: string | null;
}

/** Text of an answer as it comes. */
export interface TalkDelta {
  readonly text: string;
}

/** A function that the model calls; its arguments as it wrote them. */
export interface TalkCall {
  readonly name: string;
  readonly arguments: string;
}

/** A whole answer. Tokens are the provider's own count, None where it gives none; ``finish`` is why it ended. */
export interface TalkAnswer {
  readonly message: string;
  readonly thoughts: string;
  readonly refusal: string;
  readonly calls: readonly TalkCall[];
  readonly finish: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
}

/** A whole answer, and the plan that made it; None where instructions took the prompt's place. */
export interface TalkEnd {
  readonly message: string;
  readonly thoughts: string;
  readonly refusal: string;
  readonly calls: readonly TalkCall[];
  readonly finish: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly plan: InspectionView | null;
}

/** How many rows there are. */
export interface LibraryCounts {
  readonly templates: number;
  readonly models: number;
  readonly providers: number;
  readonly tools: number;
  readonly negatives: number;
  readonly calls: number;
  readonly secrets: number;
}

/** What whoever looks may do: change templates (``write``), see the log and the names in the vault (``oversee``). */
export interface LibraryRights {
  readonly write: boolean;
  readonly oversee: boolean;
}

/** Where the library is. Without a database, its snapshot or what comes with Innkeeper is shown; ``problem`` says why. */
export interface LibraryView {
  readonly source: "builtin" | "database" | "snapshot";
  readonly place: string;
  readonly writable: boolean;
  readonly rights: LibraryRights;
  readonly revision: number;
  readonly ceiling: "nsfw" | "sfw";
  readonly policy: string;
  readonly counts: LibraryCounts;
  readonly problem: ProblemView | null;
}

/** A model of the catalogue. ``default_for`` are tasks, ``used_by`` templates that are for it or written by it. */
export interface ModelRow {
  readonly key: string;
  readonly title: string;
  readonly provider: string | null;
  readonly modality: string;
  readonly family: string | null;
  readonly tasks: readonly string[];
  readonly default_for: readonly string[];
  readonly window: number | null;
  readonly priority: number;
  readonly ceiling: "nsfw" | "sfw" | null;
  readonly active: boolean;
  readonly replaced_by: string | null;
  readonly used_by: readonly string[];
}

/** A provider of models. ``secret`` is the name of its key in the vault. */
export interface ProviderRow {
  readonly name: string;
  readonly title: string;
  readonly address: string | null;
  readonly auth: string;
  readonly secret: string | null;
  readonly ceiling: "nsfw" | "sfw" | null;
  readonly active: boolean;
  readonly used_by: readonly string[];
}

/** A tool that models may call, with its definition. */
export interface ToolView {
  readonly name: string;
  readonly description: string;
  readonly provider: string | null;
  readonly model: string | null;
  readonly active: boolean;
  readonly changed: string;
  readonly definition: unknown;
}

/** A fragment of the negative prompts of a family of models. ``used_by`` are the models of the family. */
export interface NegativeRow {
  readonly id: string;
  readonly family: string;
  readonly tier: "nsfw" | "sfw";
  readonly mode: string;
  readonly priority: number;
  readonly active: boolean;
  readonly text: string;
  readonly used_by: readonly string[];
}

/** The room of a published template: what is made with it, what its reader writes, and how long its own text can become. */
export interface BudgetRow {
  readonly template: string;
  readonly version: number;
  readonly target: string | null;
  readonly reader: string | null;
  readonly token_limit: number;
  readonly max_output_tokens: number;
  readonly worst: number;
  readonly unbounded: readonly string[];
  readonly window: number | null;
  readonly fits: boolean | null;
}

/** A template in the list: its key is that of the version in production, else of the latest. ``kind`` is its use case. */
export interface TemplateSummary {
  readonly name: string;
  readonly title: string;
  readonly kind: string;
  readonly tier: "nsfw" | "sfw";
  readonly target: string | null;
  readonly enhancer: string | null;
  readonly job_type: string | null;
  readonly labels: Readonly<Record<string, number>>;
  readonly latest: number;
  readonly published: number | null;
}

/** A version among those of its template. ``state``: in production, under another label, newer than that, or older. */
export interface TemplateVersionView {
  readonly version: number;
  readonly state: "draft" | "labelled" | "older" | "published";
  readonly labels: readonly string[];
  readonly author: string;
  readonly when: string;
  readonly note: string;
}

/** A move of a label; null is no version. */
export interface LabelMove {
  readonly label: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly who: string;
  readonly why: string;
  readonly when: string;
}

/** A variable that a template declares. ``fence`` sets its value off as data. */
export interface TemplateVariable {
  readonly name: string;
  readonly type?: "boolean" | "list" | "number" | "text";
  readonly required?: boolean;
  readonly default?: string | null;
  readonly source?: string | null;
  readonly max_tokens?: number | null;
  readonly description?: string;
  readonly fence?: boolean;
}

/** What an author writes. Parts and the parent are pinned, by name and version. */
export interface TemplateContentView {
  readonly use_case: string;
  readonly content_mode: "nsfw" | "sfw";
  readonly target_model: string | null;
  readonly enhancer_model: string | null;
  readonly job_type: string | null;
  readonly provider: string | null;
  readonly syntax: "liquid" | "mustache";
  readonly system_prompt: string;
  readonly variables: readonly TemplateVariable[];
  readonly token_limit: number;
  readonly max_output_tokens: number | null;
  readonly partials: readonly (readonly [string, number])[];
  readonly extends: readonly [string, number] | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Something about a version; an error stops its publication. Lines and columns, from 1, are those of its text. */
export interface TemplateFinding {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly line: number | null;
  readonly column: number | null;
}

/** A template, with the content of one version. ``tokens`` is the longest that it can become, ``window`` its reader's. */
export interface TemplateView {
  readonly summary: TemplateSummary;
  readonly versions: readonly TemplateVersionView[];
  readonly moves: readonly LabelMove[];
  readonly version: number;
  readonly content: TemplateContentView;
  readonly sha256: string;
  readonly findings: readonly TemplateFinding[];
  readonly tokens: number | null;
  readonly window: number | null;
}

/** A new version. ``base`` is the version that it was made from, which must still be the latest; null: whatever is. */
export interface DraftRequest {
  readonly content: TemplateContentView;
  readonly base?: number | null;
  readonly note?: string;
  readonly title?: string;
  readonly check?: boolean;
}

/** Fill a version with values by the names of its variables; null: the version in production, else the latest. */
export interface RenderRequest {
  readonly version?: number | null;
  readonly values?: Readonly<Record<string, unknown>>;
}

/** A version with values in it. ``ignored`` are values that no variable takes, ``lost`` characters cut off, by variables. */
export interface RenderedView {
  readonly text: string;
  readonly tokens: number | null;
  readonly ranges: readonly (readonly [number, string | null])[];
  readonly lost: Readonly<Record<string, number>>;
  readonly ignored: readonly string[];
}

/** Let a label point at a version; null: the latest. */
export interface PublishRequest {
  readonly version?: number | null;
  readonly label?: string;
  readonly note?: string;
}

/** Let a label point at an earlier version; null: the one that held it before. */
export interface RollbackRequest {
  readonly version?: number | null;
  readonly label?: string;
  readonly note?: string;
}

/** What a template is wanted for. ``tier`` is what is asked for; what is granted depends on the operator. */
export interface ResolutionRequest {
  readonly use_case: string;
  readonly tier?: "nsfw" | "sfw";
  readonly job_type?: string | null;
  readonly target_model?: string | null;
  readonly target_family?: string | null;
  readonly enhancer_model?: string | null;
  readonly enhancer_family?: string | null;
  readonly label?: string;
  readonly lower_tier?: boolean;
}

/** A level that was tried: the key that it looks for, what came of it, and why. ``score``: 0 is nearest to the request. */
export interface ResolutionStepView {
  readonly level: string;
  readonly score: number;
  readonly candidate: string | null;
  readonly outcome: "found" | "nothing" | "skipped";
  readonly matched: boolean;
  readonly why: string;
}

/** Which template answers, and the path to it. ``reasons`` say why an answer is a makeshift. */
export interface ResolutionView {
  readonly steps: readonly ResolutionStepView[];
  readonly name: string | null;
  readonly version: number | null;
  readonly level: string;
  readonly source: string;
  readonly execution: string;
  readonly requested: "nsfw" | "sfw";
  readonly granted: "nsfw" | "sfw";
  readonly tier_reasons: readonly TierReason[];
  readonly degraded: boolean;
  readonly reasons: readonly string[];
}

/** A text to be judged: where it enters, the tier asked for, and what is known of the character that speaks. */
export interface TierRequest {
  readonly text: string;
  readonly entry?: string;
  readonly tier?: "nsfw" | "sfw";
  readonly rating?: string | null;
  readonly declared_age?: number | null;
}

/** Why a tier was granted or not: a code such as ``ceiling:account``, what it is about, and a sentence. */
export interface TierReason {
  readonly code: string;
  readonly category: string | null;
  readonly message: string;
}

/** Characters of the text that count for a category, by an entry of a list, with its weight from 0 to 1. */
export interface TierSpan {
  readonly start: number;
  readonly end: number;
  readonly category: string;
  readonly entry: string;
  readonly weight: number;
}

/** How much of a category is in the text, from 0 to 1. */
export interface CategoryScore {
  readonly category: string;
  readonly score: number;
}

/** The highest tier that one side allows. */
export interface TierCeiling {
  readonly side: string;
  readonly tier: "nsfw" | "sfw";
}

/** The scores from which on a category has a consequence in a tier. ``absolute``: it blocks, and no setting changes that. */
export interface PolicyRow {
  readonly tier: "nsfw" | "sfw";
  readonly category: string;
  readonly lower: number | null;
  readonly review: number | null;
  readonly block: number | null;
  readonly absolute: boolean;
}

/** The tier that is granted a text, and why. ``entries`` are the places where a text may enter. */
export interface TierView {
  readonly requested: "nsfw" | "sfw";
  readonly granted: "nsfw" | "sfw";
  readonly decision: string;
  readonly passed: boolean;
  readonly reasons: readonly TierReason[];
  readonly spans: readonly TierSpan[];
  readonly scores: readonly CategoryScore[];
  readonly ceilings: readonly TierCeiling[];
  readonly policy: readonly PolicyRow[];
  readonly policy_version: string;
  readonly detector: string;
  readonly lexicon: string;
  readonly entries: readonly string[];
}

/** A call: what answered it, in which tier, how long it took and what it cost. No text is kept in the log. */
export interface LogRow {
  readonly id: number;
  readonly when: string;
  readonly request: string | null;
  readonly use_case: string | null;
  readonly template: string | null;
  readonly version: number | null;
  readonly level: string | null;
  readonly source: string | null;
  readonly tier: "nsfw" | "sfw" | null;
  readonly target: string | null;
  readonly enhancer: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly milliseconds: number | null;
  readonly cost: number | null;
  readonly status: string;
  readonly error: string | null;
}

/** Calls, the newest first. ``next`` is what ``before`` is for the page after; null where there is none. */
export interface LogPage {
  readonly rows: readonly LogRow[];
  readonly next: number | null;
}

/** What calls came to. Percentiles are exact, by nearest rank; null where nothing was measured. */
export interface CallFigures {
  readonly calls: number;
  readonly errors: number;
  readonly blocked: number;
  readonly degraded: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
}

/** The calls of a template, or of all (null). */
export interface TemplateFigures {
  readonly calls: number;
  readonly errors: number;
  readonly blocked: number;
  readonly degraded: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
  readonly template: string | null;
  readonly hit_rate: number | null;
}

/** The calls of a stretch of time that begins at ``start``. */
export interface MetricsBucket {
  readonly calls: number;
  readonly errors: number;
  readonly blocked: number;
  readonly degraded: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
  readonly start: string;
}

/** The calls of the last hours by time and by template. ``truncated``: there were more calls than are looked at. */
export interface MetricsView {
  readonly hours: number;
  readonly seconds: number;
  readonly since: string;
  readonly buckets: readonly MetricsBucket[];
  readonly all: TemplateFigures;
  readonly templates: readonly TemplateFigures[];
  readonly truncated: boolean;
}

/** That a secret is set, or wanted by a provider, and no more than that. ``scope``: the providers that name it. */
export interface VaultName {
  readonly name: string;
  readonly scope: readonly string[];
  readonly is_set: boolean;
  readonly created: string | null;
  readonly changed: string | null;
  readonly changed_by: string | null;
  readonly last_used: string | null;
}

/** The names in the vault. Values are shown to nobody. */
export interface VaultNames {
  readonly names: readonly VaultName[];
}
