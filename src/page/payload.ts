// What fleet hands the page: columns of text and numbers, so that 100,000 bicycles are read in a moment.

/** What the page draws of one bicycle, its groups by their words. */
export interface Row {
  readonly uuid: string;
  readonly name: string | null;
  readonly state: string;
  readonly charge: string;
  readonly silence: string;
  /** Of charge, in percent. */
  readonly percent: number | null;
  /** Degrees; null for what is on no map. */
  readonly longitude: number | null;
  readonly latitude: number | null;
  /** The last position, in milliseconds since the epoch. */
  readonly seenMs: number | null;
}

/** Each field of all bicycles in a column of its own, all equally long; groups are places in the words of `groups`. */
export type Columns = { readonly [field in keyof Row]: readonly (field extends GroupName ? number : Row[field])[] };

/** The words of each group, in the order of `bicycles stats`: whoever counts them gets its numbers. */
export interface Groups {
  readonly state: readonly string[];
  readonly charge: readonly string[];
  readonly silence: readonly string[];
}

export type GroupName = keyof Groups;

export interface AlertRow {
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
  readonly rows: readonly AlertRow[];
  /** As `bicycles stats` counts them. */
  readonly byType: readonly { readonly type: string; readonly count: number }[];
  /** Why there are none, or not all. */
  readonly note: string | null;
}

export interface Tiles {
  readonly kind: 'raster' | 'vector';
  /** With {z}, {x} and {y}. */
  readonly url: string;
  readonly attribution: string;
}

export interface Payload {
  readonly title: string;
  /** When the fleet was read, in milliseconds since the epoch. */
  readonly atMs: number;
  /** How current and how whole it is, where that has to be said. */
  readonly note: string | null;
  readonly groups: Groups;
  readonly columns: Columns;
  readonly alerts: Alerts;
  readonly tiles: Tiles | null;
  readonly live: Live | null;
}

/** What a page that is served knows of its server. */
export interface Live {
  /** The number of the last update that the columns hold. */
  readonly sequence: number;
  readonly link: Link;
  /** What was there before the page was opened, the newest first. */
  readonly events: readonly FeedEntry[];
  /** How many bicycles the service counts, while they are still being read. */
  readonly total: number | null;
  readonly gaps: number;
  /** Since when the past can be shown, in milliseconds since the epoch; null where no mirror keeps it. */
  readonly pastFromMs: number | null;
}

/** Whether fleet hears the service. */
export interface Link {
  readonly state: 'connecting' | 'open' | 'lost';
  readonly sinceMs: number;
  readonly message: string | null;
}

/** One line of what happened. */
export interface FeedEntry {
  readonly kind: 'change' | 'caught-up' | 'gap';
  readonly atMs: number;
  readonly uuid: string | null;
  readonly name: string | null;
  readonly text: string;
}

/** What a tab is sent, ten times a second at most; what did not change is left out. */
export interface Update {
  readonly sequence: number;
  readonly atMs: number;
  readonly rows?: readonly Row[];
  /** Bicycles that are no longer among those asked for. */
  readonly gone?: readonly string[];
  /** Bicycles that have been silent for longer now. */
  readonly silences?: readonly (readonly [uuid: string, silence: string])[];
  readonly events?: readonly FeedEntry[];
  readonly link?: Link;
  readonly gaps?: number;
  readonly total?: number | null;
  readonly alerts?: Alerts;
}

/** All fields of one bicycle as texts, as the service sent them. */
export type Fields = readonly (readonly [field: string, text: string | null])[];

/** All fields of all bicycles: a column a field, in the order of the uuids; texts that come again are named by their place. */
export interface Details {
  readonly fields: readonly DetailColumn[];
}

export interface DetailColumn {
  readonly field: string;
  /** What every text begins and ends with; left out of them. */
  readonly prefix: string;
  readonly suffix: string;
  /** Where present, `values` are places in it. */
  readonly words?: readonly (string | null)[];
  readonly values: readonly (string | number | null)[];
}
