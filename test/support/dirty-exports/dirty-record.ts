/**
 * Records as in real exports, each with the result that an import must have. The maker of a record states that; nothing here uses the
 * readers or the check.
 */
export interface DirtyRecord {
  /** A line of the export, without its end. */
  readonly text: string;
  readonly expected: Expected;
}

export type Expected = StoredRecord | JoinedRecord | SaidRecord | { readonly is: 'skipped' } | RejectedRecord;

export interface StoredRecord {
  readonly is: 'stored';
  readonly event: ExpectedEvent;
  /** Of a record that holds several. */
  readonly others?: readonly ExpectedEvent[];
  readonly link?: DeviceLink;
  readonly join?: Join;
  readonly says?: readonly Said[];
}

/** What many records say of a group: of all that say the same on a day, in UTC, the event of the latest is stored. */
export interface Said {
  readonly thing: string;
  readonly content: string;
  readonly event: ExpectedEvent;
}

/** A record without its own event: skipped, unless it is the latest of a day that says so. */
export interface SaidRecord {
  readonly is: 'said';
  readonly says: readonly Said[];
}

/** A record that only says that two ids are one person. */
export interface JoinedRecord {
  readonly is: 'joined';
  readonly join: Join;
}

export interface RejectedRecord {
  readonly is: 'rejected';
  /** What the record says about ids is good, though its event is not. */
  readonly link?: DeviceLink;
  readonly join?: Join;
}

/** The source itself has made one person of two ids, neither of which is a device. */
export type Join = readonly [id: string, other: string];

/** A stored event without its uuid: those with the same `identity` are stored once. */
export interface ExpectedEvent {
  readonly event: string;
  readonly distinctId: string;
  /** Since the epoch. */
  readonly ms: number;
  /** JSON of the property `probe`, with every digit. */
  readonly probe: string;
  readonly identity: string;
  /** The record has no id: its `identity` is its content, and the n-th one of a file is the same event as the n-th one of any other. */
  readonly isCounted?: boolean;
  /** Its id identifies no person. */
  readonly isNobodys?: boolean;
  /** It sets the property `latest` of its person to `ms`, and `initial_first` unless there is an earlier one. */
  readonly setsTime?: boolean;
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

/** The same record with an event that is refused for its name, say: user and device are known all the same. */
export function rejectedEvent({ expected }: DirtyRecord): Expected {
  if (expected.is !== 'stored') return rejected;
  const { link, join } = expected;
  return { is: 'rejected', ...(link !== undefined && { link }), ...(join !== undefined && { join }) };
}
