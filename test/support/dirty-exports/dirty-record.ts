/**
 * Records as real exports hold them, each with what an import has to make of it. Whoever makes a record knows that; nothing here asks
 * the readers or the check.
 */
export interface DirtyRecord {
  /** A line of the export, without its end. */
  readonly text: string;
  readonly expected: Expected;
}

export type Expected = StoredRecord | { readonly is: 'skipped' } | { readonly is: 'rejected' };

export interface StoredRecord {
  readonly is: 'stored';
  readonly event: ExpectedEvent;
  /** Of a record that holds several. */
  readonly others?: readonly ExpectedEvent[];
  readonly link?: DeviceLink;
}

/** A stored event without its uuid: those with the same `identity` are stored once. */
export interface ExpectedEvent {
  readonly event: string;
  readonly distinctId: string;
  /** Since the epoch. */
  readonly ms: number;
  /** JSON of the property `probe`, with every digit. */
  readonly probe: string;
  readonly identity: string;
  /** Its id means nobody: no person comes of it. */
  readonly isNobodys?: boolean;
}

/** The source says that this user was at this device at that time. */
export interface DeviceLink {
  readonly device: string;
  readonly user: string;
  readonly ms: number;
}

/** Makes the records of a format, the same ones for the same seed. */
export type MakeRecords = (seed: number, count: number) => Generator<DirtyRecord>;

export const rejected: Expected = { is: 'rejected' };
