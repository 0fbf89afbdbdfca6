// The data that fleet sends to the page: first the whole fleet, then updates.

/** What the page draws of one bicycle. */
export interface PageRow {
  readonly uuid: string;
  readonly name: string | null;
  readonly state: string;
  /** Of charge, in percent. */
  readonly percent: number | null;
  /** In degrees, or why it is on no map: `without a position`. */
  readonly position: readonly [longitude: number, latitude: number] | string;
  /** The last position, in milliseconds since the epoch. */
  readonly seenMs: number | null;
  /** Serial number and bleid, for the search. */
  readonly codes: string;
}

export interface PageAlert {
  readonly uuid: string;
  readonly bicycle: string | null;
  readonly bicycleName: string | null;
  readonly type: string;
  readonly state: string;
  readonly message: string;
  readonly createdMs: number | null;
}

export interface Alerts {
  /** Open ones of the bicycles on the page, the newest first. */
  readonly rows: readonly PageAlert[];
  /** As `bicycles stats` counts them. */
  readonly byType: readonly { readonly type: string; readonly count: number }[];
  /** Why there are none, or not all. */
  readonly note: string | null;
}

export interface Tiles {
  /** With {z}, {x} and {y}. */
  readonly url: string;
  readonly attribution: string;
}

/** Whether fleet is connected to the service, and which updates it missed. */
export interface Link {
  readonly state: 'connecting' | 'open' | 'lost';
  readonly sinceMs: number;
  readonly message: string | null;
  readonly gaps: number;
  /** How many bicycles the service counts, while they are still being read. */
  readonly total: number | null;
}

/** One line of what happened. */
export interface FeedEntry {
  readonly kind: 'change' | 'caught-up' | 'gap';
  readonly atMs: number;
  readonly uuid: string | null;
  readonly name: string | null;
  readonly text: string;
}

/** What a tab is sent, ten times a second at most. */
export interface Update {
  /** Greater than that of the one before. */
  readonly sequence: number;
  /** As of when, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Why it is incomplete, where it is. */
  readonly note: string | null;
  readonly rows: readonly PageRow[];
  /** Bicycles that are no longer among those asked for. */
  readonly gone: readonly string[];
  /** Null: those of before. */
  readonly alerts: Alerts | null;
  /** The newest first. */
  readonly events: readonly FeedEntry[];
  /** Null where nothing moves: on a page from a disk, and in the past. */
  readonly link: Link | null;
}

/** The fleet as a whole: what a page starts from. */
export interface Payload extends Update {
  readonly title: string;
  /** The IANA name of the zone of times; null for that of the browser. */
  readonly timeZone: string | null;
  readonly tiles: Tiles | null;
  /** Since when the past can be shown, in milliseconds since the epoch; null where no mirror keeps it. */
  readonly pastFromMs: number | null;
}

/** All fields of one bicycle as texts, as the service sent them. */
export type FieldTexts = readonly (readonly [field: string, text: string | null])[];

/** All fields of all bicycles: of each the texts, in the order of the rows, as JSON that is packed by gzip and written in base64. */
export type Details = readonly (readonly [field: string, packed: string])[];
