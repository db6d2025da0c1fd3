/** An event as importers and plugins write it into a batch. */
export interface WireEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  /** As the source wrote it. */
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}
