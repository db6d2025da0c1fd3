/** What a cluster needs for so many events a second, from figures that tools/prove/scaling.ts has measured. */

/** CPU time of an event, µs. */
export interface CapacityCosts {
  readonly capture: number;
  readonly pipeline: number;
  readonly kafka: number;
  readonly postgres: number;
  readonly store: number;
}

/** docs/guides/capacity.json. */
export interface Capacity {
  /** The day. */
  readonly measured: string;
  /** Of the machine. */
  readonly cores: number;
  readonly microsPerEvent: { readonly plain: CapacityCosts; readonly set: CapacityCosts };
  readonly pipeline: {
    readonly idleMillisPerSecond: number;
    readonly millisPerWindow: number;
    readonly microsPerEvent: number;
  };
  /** Largest process of its kind. */
  readonly megabytes: { readonly capture: number; readonly pipeline: number };
  readonly bytes: { readonly eventInLog: number; readonly eventStored: number; readonly person: number };
}
