import type { TransformEvent } from '../../plugins/plugin.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { SandboxEvent } from '../../plugins/sandbox/sandbox.ts';
import type { Step } from './step.ts';

/** An event without its properties. */
export interface EventHead {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
}

const succeededKey = '$plugins_succeeded';
const failedKey = '$plugins_failed';
/** A key written with escapes is not found; such an event only loses earlier markers. */
const markersStart = '$plugins_';

/**
 * An event in a chain, as an object, as JSON text, or both while they are equal: built-ins need the object, the sandbox takes and
 * returns text, and each is created on demand.
 *
 * It lists which steps succeeded and which failed, after what earlier services wrote; steps see the lists as `$plugins_succeeded` and
 * `$plugins_failed`.
 */
export class ChainEvent {
  readonly teamId: number;
  /** Arrival, ms since the epoch. */
  readonly receivedAt: number;
  readonly succeeded: string[];
  readonly failed: string[];
  droppedBy: Step | undefined = undefined;
  /** The head before the chain. */
  readonly source: EventHead;
  #head: EventHead;
  /** JSON text of the properties; null: only the object is current. */
  #text: string | null;
  /** Null: only the text is current. */
  #object: TransformEvent | null = null;

  /** Takes ownership of `properties`; `text` is the same as JSON. One of them may be null. */
  constructor(
    source: EventHead & { readonly teamId: number; readonly receivedAt: number },
    properties: JsonObject | null,
    text: string | null,
  ) {
    this.teamId = source.teamId;
    this.receivedAt = source.receivedAt;
    this.source = source;
    this.#head = source;
    this.#text = text;
    if (properties !== null) this.#object = toObject(source, source.teamId, properties);
    const mayBeMarked = properties !== null || text?.includes(markersStart) !== false;
    this.succeeded = mayBeMarked ? labels(this.#read().properties, succeededKey) : [];
    this.failed = mayBeMarked ? labels(this.#read().properties, failedKey) : [];
  }

  get head(): EventHead {
    if (this.#object === null) return this.#head;
    const { uuid, event, distinct_id: distinctId, timestamp } = this.#object;
    return { uuid, event, distinctId, timestamp };
  }

  /** The object for a step that may change it, which invalidates the text. */
  get object(): TransformEvent {
    const object = this.#read();
    this.#text = null;
    return object;
  }

  /** Sets the object that a step returned. */
  set object(event: TransformEvent) {
    this.#object = event;
    this.#text = null;
  }

  /** The object with the markers in it, for a step that may change it. */
  markedObject(): TransformEvent {
    this.mark();
    return this.object;
  }

  /** JSON text of the properties, with the markers when they are part of the object. */
  get text(): string {
    return (this.#text ??= JSON.stringify(this.#read().properties));
  }

  /** Sets the result of a step as text. */
  setText(head: EventHead, text: string): void {
    this.#head = head;
    this.#text = text;
    this.#object = null;
  }

  /** Saves the state for `restore`. */
  save(): { readonly head: EventHead; readonly text: string } {
    return { head: this.head, text: this.text };
  }

  restore({ head, text }: { readonly head: EventHead; readonly text: string }): void {
    this.setText(head, text);
  }

  /** Writes both lists into the properties, where later steps and readers of the event see them. */
  mark(): void {
    const { properties } = this.object;
    if (properties[succeededKey] !== this.succeeded) properties[succeededKey] = this.succeeded;
    if (properties[failedKey] !== this.failed) properties[failedKey] = this.failed;
  }

  forSandbox(): SandboxEvent {
    const { uuid, event, distinctId, timestamp } = this.head;
    const { teamId, receivedAt, succeeded, failed } = this;
    const propertiesText = this.text;
    return {
      uuid,
      event,
      distinctId,
      teamId,
      timestamp,
      receivedAt,
      propertiesText,
      markers: { succeeded, failed },
    };
  }

  /** Returns the current properties, and their text if it is current. They must not be changed while the event is in the chain. */
  result(): { readonly properties: JsonObject; readonly text: string | null } {
    return { properties: this.#read().properties, text: this.#text };
  }

  #read(): TransformEvent {
    // The text was created by JSON.stringify, or validated on arrival.
    this.#object ??= toObject(this.#head, this.teamId, JSON.parse(this.#text ?? '{}') as JsonObject);
    return this.#object;
  }
}

function toObject(head: EventHead, teamId: number, properties: JsonObject): TransformEvent {
  const { uuid, event, distinctId, timestamp } = head;
  return { uuid, event, distinct_id: distinctId, team_id: teamId, timestamp, properties };
}

function labels(properties: JsonObject, key: string): string[] {
  const known: JsonValue | undefined = Object.hasOwn(properties, key) ? properties[key] : undefined;
  return Array.isArray(known) ? known.filter((label) => typeof label === 'string') : [];
}
