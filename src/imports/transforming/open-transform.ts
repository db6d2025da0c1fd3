import { missingRequired, withDefaults } from '../../plugins/check-settings.ts';
import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import type { Attachment, TransformationHost } from '../../plugins/host.ts';
import { withoutSecrets } from '../../plugins/mask-secrets.ts';
import type { TransformationPlugin } from '../../plugins/plugin.ts';
import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';
import type { Sandbox, SandboxProgram, EventOutcome, SandboxError } from '../../plugins/sandbox/sandbox.ts';
import {
  TransformError,
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
  const settings = withDefaults(fields, subject.settings);
  const mask = (text: string): string => withoutSecrets(text, fields, settings);
  const of = { configId, projectId: options.projectId, settings, attachments };
  const { now, sandbox, fetch, geoip } = place;
  return createTransform({
    ...options,
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

interface TransformDeps extends TransformAbout {
  /** Sets the code up. Throws TransformError. */
  readonly openRunner: () => Promise<Runner>;
  /** Masks secrets in a text. */
  readonly mask: (text: string) => string;
}

export function createTransform({ name, projectId, receivedAt, openRunner, mask }: TransformDeps): Transform {
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
        run: async (events) =>
          (await runner.run(events.map((event) => ({ ...event, markers: null })))).map(toCodeOutcome),
        close: () => runner.close(),
      };
    },
  };
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
