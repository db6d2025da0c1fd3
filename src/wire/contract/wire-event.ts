/** An event as importers and plugins write it into a batch. */
export interface WireEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  /** As the source wrote it. */
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Of an event of an import: the run that it came with. */
export const runProperty = '$import_run_id';
/**
 * On the `$identify` of an import. `merge`: its ids are one person as with a live one. `joined`: the source itself has made them one
 * person, whichever of them is known already. Without it the other id is a device, which belongs to its first user.
 */
export const identityProperty = '$import_identity';
