/** An event as importers and plugins write it into a batch. */
export interface WireEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  /** As in the source. */
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Id of the import run, on imported events. */
export const runProperty = '$import_run_id';
/**
 * Marks the `$identify` of an import. `merge`: its ids are merged as by a live one. `joined`: the source has merged them,
 * whichever is known already. Without it, the other id is a device, which belongs to its first user.
 */
export const identityProperty = '$import_identity';
