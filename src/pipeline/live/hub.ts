import { LiveReader } from './reader.ts';
import type { Sightings, Watch } from './watch.ts';

/** Receives what was seen. */
export type LiveSink = Pick<LiveReader, 'see' | 'skipped'>;

export interface OpenedReader {
  readonly reader: LiveReader;
  /** Resolves once every source knows the reader. Never rejects. */
  readonly ready: Promise<void>;
  readonly close: () => void;
}

/** Passes the current watches to a source of sightings; resolves once it has them. Never rejects. */
export type Announce = (watches: readonly Watch[]) => void | Promise<void>;

/** Connects the readers of the live stream with the sources of sightings. */
export class LiveHub {
  readonly #readers = new Map<number, { readonly watch: Watch; readonly reader: LiveSink }>();
  readonly #sources = new Set<Announce>();
  #lastId = 0;

  /** Adds a source, which receives the watches from now on. Returns a function that removes it. */
  addSource(announce: Announce): () => void {
    this.#sources.add(announce);
    void announce(this.watches());
    return () => void this.#sources.delete(announce);
  }

  open(wanted: Omit<Watch, 'id'>): OpenedReader {
    const reader = new LiveReader();
    return { reader, ...this.add(reader, wanted) };
  }

  /** Adds a reader that exists elsewhere. */
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

  /** Delivers sightings of a source; readers that have left are skipped. */
  deliver({ seen, skipped }: Sightings): void {
    for (const sighting of seen) for (const id of sighting.watches) this.#readers.get(id)?.reader.see(sighting);
    for (const { watch, stage, count } of skipped) this.#readers.get(watch)?.reader.skipped(stage, count);
  }

  /** Returns the current watches. */
  watches(): readonly Watch[] {
    return [...this.#readers.values()].map(({ watch }) => watch);
  }

  async #announce(): Promise<void> {
    const watches = this.watches();
    await Promise.all([...this.#sources].map((announce) => announce(watches)));
  }
}
