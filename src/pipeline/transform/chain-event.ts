import type { TransformEvent } from '../../plugins/plugin.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { SandboxEvent } from '../../plugins/sandbox/sandbox.ts';
import type { Step } from './step.ts';

/** Everything of an event but its properties. */
export interface EventHead {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
}

const succeededKey = '$plugins_succeeded';
const failedKey = '$plugins_failed';
/** A key may be written with escapes, and then is not found so; such an event loses what others wrote there, and nothing else. */
const markersStart = '$plugins_';

/**
 * An event on its way through a chain, as an object, as JSON text, or both while they say the same: built-ins want the object,
 * the sandbox takes and gives text, and neither is made before somebody needs it.
 *
 * It knows which steps went well and which failed, after what earlier places wrote; steps see that as `$plugins_succeeded` and
 * `$plugins_failed`.
 */
export class ChainEvent {
  readonly teamId: number;
  /** Arrival, ms since the epoch. */
  readonly receivedAt: number;
  readonly succeeded: string[];
  readonly failed: string[];
  droppedBy: Step | undefined = undefined;
  /** As it came into the chain. */
  readonly source: EventHead;
  #head: EventHead;
  /** JSON text of the properties; null: the object is ahead of it. */
  #text: string | null;
  /** Null: the text is ahead of it. */
  #object: TransformEvent | null = null;

  /** `properties` becomes the event's own; `text` is the same as JSON. One of them may be null. */
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

  /** For a step that may change it: the text is no longer true. */
  get object(): TransformEvent {
    const object = this.#read();
    this.#text = null;
    return object;
  }

  /** What a step made of the object. */
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

  /** What a step made of it, as text. */
  setText(head: EventHead, text: string): void {
    this.#head = head;
    this.#text = text;
    this.#object = null;
  }

  /** How it was: to be given back by `restore`. */
  save(): { readonly head: EventHead; readonly text: string } {
    return { head: this.head, text: this.text };
  }

  restore({ head, text }: { readonly head: EventHead; readonly text: string }): void {
    this.setText(head, text);
  }

  /** Writes both lists into the properties, where the steps that follow (and in the end everybody) see them. */
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

  /** The properties as they are now, and their text if it is known. Not to be changed while the event is in the chain. */
  result(): { readonly properties: JsonObject; readonly text: string | null } {
    return { properties: this.#read().properties, text: this.#text };
  }

  #read(): TransformEvent {
    // The text was made by JSON.stringify, or checked when the event came in.
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
