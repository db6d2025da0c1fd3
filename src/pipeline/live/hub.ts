import { LiveReader } from './reader.ts';
import type { Sightings, Watch } from './watch.ts';

/** Who is told of what was seen. */
export type LiveSink = Pick<LiveReader, 'see' | 'skipped'>;

export interface OpenedReader {
  readonly reader: LiveReader;
  /** Resolves once every place knows of the reader. Never rejects. */
  readonly ready: Promise<void>;
  readonly close: () => void;
}

/** Tells a place in the flow who watches from now on; resolves once it knows. Never rejects. */
export type Announce = (watches: readonly Watch[]) => void | Promise<void>;

/** Brings the readers of the live stream together with the places at which events are seen. */
export class LiveHub {
  readonly #readers = new Map<number, { readonly watch: Watch; readonly reader: LiveSink }>();
  readonly #places = new Set<Announce>();
  #lastId = 0;

  /** A place that from now on is told who watches. Returns what forgets it. */
  addPlace(announce: Announce): () => void {
    this.#places.add(announce);
    void announce(this.watches());
    return () => void this.#places.delete(announce);
  }

  open(wanted: Omit<Watch, 'id'>): OpenedReader {
    const reader = new LiveReader();
    return { reader, ...this.add(reader, wanted) };
  }

  /** As `open`, for a reader that is somewhere else. */
  add(reader: LiveSink, wanted: Omit<Watch, 'id'>): Omit<OpenedReader, 'reader'> {
    const id = ++this.#lastId;
    this.#readers.set(id, { watch: { ...wanted, id }, reader });
    const ready = this.#announce();
    return {
      ready,
      close: () => {
        if (this.#readers.delete(id)) void this.#announce();
      },
    };
  }

  /** What a place has seen; those who have left meanwhile are passed over. */
  deliver({ seen, skipped }: Sightings): void {
    for (const sighting of seen) for (const id of sighting.watches) this.#readers.get(id)?.reader.see(sighting);
    for (const { watch, stage, count } of skipped) this.#readers.get(watch)?.reader.skipped(stage, count);
  }

  /** Everybody who watches now. */
  watches(): readonly Watch[] {
    return [...this.#readers.values()].map(({ watch }) => watch);
  }

  async #announce(): Promise<void> {
    const watches = this.watches();
    await Promise.all([...this.#places].map((announce) => announce(watches)));
  }
}
