// The data that fleet sends to the page: first the whole fleet, and then updates.

/** The data with which a bicycle is drawn. */
export interface PageRow {
  readonly uuid: string;
  readonly name: string | null;
  readonly state: string;
  /** The charge in percent. */
  readonly percent: number | null;
  /** The position in degrees, or the reason why there is none: `without a position`. */
  readonly position: readonly [longitude: number, latitude: number] | string;
  /** The time of the last position, in milliseconds since the epoch. */
  readonly seenMs: number | null;
  /** The serial number and the bleid, for the search. */
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
  /** The open alerts of the bicycles on the page, the newest first. */
  readonly rows: readonly PageAlert[];
  /** The counts of `bicycles stats`. */
  readonly byType: readonly { readonly type: string; readonly count: number }[];
  /** The reason why alerts are missing, if any are missing. */
  readonly note: string | null;
}

export interface Tiles {
  /**
   * The tile URL, with {z}, {x} and {y}. The URL is relative when the tiles come from an archive.
   */
  readonly url: string;
  readonly attribution: string;
  readonly kind: 'raster' | 'vector';
  /** The lowest and highest zoom for which the archive contains tiles. */
  readonly minZoom?: number;
  readonly maxZoom?: number;
}

/** A zone of the service. */
export interface PageZone {
  readonly name: string | null;
  /** GeoJSON polygons: rings of longitude and latitude. */
  readonly polygons: readonly (readonly (readonly (readonly number[])[])[])[];
}

/** Fleet's connection to the service, and the updates that fleet missed. */
export interface Link {
  readonly state: 'connecting' | 'open' | 'lost';
  readonly sinceMs: number;
  readonly message: string | null;
  readonly gaps: number;
  /**
   * The number of bicycles that the service counts. It is only set while the bicycles are being
   * read.
   */
  readonly total: number | null;
}

/** A line in the event list. */
export interface FeedEntry {
  readonly kind: 'change' | 'caught-up' | 'gap';
  readonly atMs: number;
  readonly uuid: string | null;
  readonly name: string | null;
  readonly text: string;
}

/** An update for a tab. A tab gets at most ten updates a second. */
export interface Update {
  /** The number of the update. The number increases with each update. */
  readonly sequence: number;
  /** The time of the data, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The reason why the data is incomplete, if it is incomplete. */
  readonly note: string | null;
  readonly rows: readonly PageRow[];
  /** Bicycles that the map no longer shows. */
  readonly gone: readonly string[];
  /** Null when unchanged. */
  readonly alerts: Alerts | null;
  /** Newest first. */
  readonly events: readonly FeedEntry[];
  /**
   * Fleet's connection to the service. Null for a page from disk and for a page that shows a moment
   * of the past.
   */
  readonly link: Link | null;
}

/** The initial data of a page: the whole fleet. */
export interface Payload extends Update {
  readonly title: string;
  /** The IANA name of the time zone; null to use the browser's zone. */
  readonly timeZone: string | null;
  readonly tiles: Tiles | null;
  readonly zones: readonly PageZone[];
  /**
   * The earliest moment that the time slider can show, in milliseconds since the epoch. Null
   * without a mirror.
   */
  readonly pastFromMs: number | null;
}

/** All fields of a bicycle as strings, as the service sent them. */
export type FieldTexts = readonly (readonly [field: string, text: string | null])[];

/**
 * All fields of all bicycles: the values of each field in row order, as JSON, compressed with raw
 * deflate (RFC 1951), in base64.
 */
export type Details = readonly (readonly [field: string, packed: string])[];
