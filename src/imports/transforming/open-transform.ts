import type { JsonObject } from '../../base/json.ts';
import { missingRequired, withDefaults } from '../../plugins/check-settings.ts';
import { readEventFilter, withoutEventFilter, type EventFilter } from '../../plugins/event-filter.ts';
import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import type { Attachment, TransformationHost } from '../../plugins/host.ts';
import { withoutSecrets } from '../../plugins/mask-secrets.ts';
import { SettingsError, type TransformationPlugin } from '../../plugins/plugin.ts';
import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';
import type {
  Sandbox,
  SandboxProgram,
  EventOutcome,
  SandboxError,
  SandboxEvent,
} from '../../plugins/sandbox/sandbox.ts';
import {
  TransformError,
  type HandedEvent,
  type Transform,
  type TransformAbout,
  type CodeOutcome,
  type TransformFault,
} from '../transform.ts';
import { openBuiltInRunner } from './built-in-runner.ts';
import { openSandboxRunner, type Runner } from './sandbox-runner.ts';

/** Services that code of either kind uses. */
export interface TransformPlace {
  readonly sandbox: Pick<Sandbox, 'open'>;
  readonly fetch: OutboundFetch;
  readonly geoip: Pick<TransformationHost, 'geoip' | 'geoipProblem'>;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** A plugin with its settings. */
export interface TransformSubject {
  /** A program for the sandbox, or a built-in transformation. */
  readonly code: SandboxProgram | TransformationPlugin;
  readonly fields: readonly PluginField[];
  readonly settings: SettingValues;
  readonly attachments: ReadonlyMap<string, Attachment>;
  /** 0 without a config. */
  readonly configId: number;
}

/** Throws TransformError if a setting is missing. */
export function openTransform(place: TransformPlace, subject: TransformSubject, options: TransformAbout): Transform {
  const { code, fields, attachments, configId } = subject;
  const missing = missingRequired(fields, subject.settings, new Set(attachments.keys()));
  if (missing.length > 0) {
    throw new TransformError(
      `expected the settings ${missing.join(', ')} of the transform "${options.name}", got none`,
    );
  }
  const filter = filterOf(subject.settings, options.name);
  const settings = withDefaults(fields, withoutEventFilter(subject.settings));
  const mask = (text: string): string => withoutSecrets(text, fields, settings);
  const of = { configId, projectId: options.projectId, settings, attachments };
  const { now, sandbox, fetch, geoip } = place;
  return createTransform({
    ...options,
    filter,
    mask,
    openRunner: async () =>
      'kind' in code
        ? openBuiltInRunner({
            ...of,
            plugin: code,
            fetch,
            geoip: geoip.geoip,
            geoipProblem: geoip.geoipProblem,
            now,
            mask,
          })
        : await openSandboxRunner({ ...of, sandbox, program: code, name: options.name, now, mask }),
  });
}

function filterOf(settings: SettingValues, name: string): EventFilter | undefined {
  try {
    return readEventFilter(settings);
  } catch (cause) {
    if (!(cause instanceof SettingsError)) throw cause;
    throw new TransformError(`the transform "${name}" cannot be set up: ${cause.message}`, { cause });
  }
}

interface TransformDeps extends TransformAbout {
  /** The code only gets the events that pass; the others stay unchanged. */
  readonly filter?: EventFilter | undefined;
  /** Sets the code up. Throws TransformError. */
  readonly openRunner: () => Promise<Runner>;
  /** Masks secrets in a text. */
  readonly mask: (text: string) => string;
}

export function createTransform({ name, projectId, receivedAt, filter, openRunner, mask }: TransformDeps): Transform {
  const toCodeOutcome = (outcome: EventOutcome): CodeOutcome =>
    outcome.kind === 'failed'
      ? { kind: 'failed', code: faultOf(outcome.error), reason: mask(describe(outcome.error)) }
      : outcome;
  return {
    name,
    projectId,
    receivedAt,
    open: async () => {
      const runner = await openRunner();
      return {
        refused: runner.refused,
        run: async (events) => {
          const isPassing = events.map((event) => filter === undefined || passes(filter, event));
          const passing = events.filter((_, index) => isPassing[index]);
          const given = passing.map(toSandboxEvent);
          const ran = (await runner.run(given)).values();
          // The runner returns an outcome for each event that it gets.
          return isPassing.map((is) => (is ? toCodeOutcome(ran.next().value as EventOutcome) : { kind: 'unchanged' }));
        },
        close: () => runner.close(),
      };
    },
  };
}

function toSandboxEvent(event: HandedEvent): SandboxEvent {
  return { ...event, markers: null };
}

function passes(filter: EventFilter, { event, propertiesText }: HandedEvent): boolean {
  // The check wrote an object.
  return filter({ event, properties: JSON.parse(propertiesText) as JsonObject });
}

const stopped: ReadonlySet<SandboxError['kind']> = new Set(['time', 'memory', 'crashed']);

function faultOf(error: SandboxError): TransformFault {
  return stopped.has(error.kind) ? 'transform_stopped' : 'transform_failed';
}

const messageCharsMax = 500;

function describe({ kind, errorName, message }: SandboxError): string {
  const text = message.slice(0, messageCharsMax);
  return kind === 'thrown' ? `${errorName}: ${text}` : text;
}
