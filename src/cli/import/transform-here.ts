import { existsSync } from 'node:fs';
import { slowHash } from '../../base/slow-hash.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { RunTransform } from '../../imports/run/run.ts';
import type { OpenRunTransform } from '../../imports/stages/check/segment/run-transform.ts';
import { openTransform, type TransformSubject } from '../../imports/transforming/open-transform.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import type { PluginField } from '../../plugins/fields.ts';
import type { Attachment } from '../../plugins/host.ts';
import { CommandError } from '../exit-codes.ts';
import { settingsFrom } from '../setting-options.ts';
import type { Terminal } from '../terminal.ts';
import { readPlugin } from '../transformation/read-plugin.ts';
import { checkAllUsed, fieldsGiven, settingsFor } from '../transformation/read-settings.ts';
import { openTrialHost, type TrialHost } from '../transformation/trial-host.ts';
import type { RequestedTransform, ImportRequest } from './request.ts';

/** A request with its transform read, and the transform's host. */
export interface TransformHere extends AsyncDisposable {
  /** `options.transform` identifies the code: the same files and settings are the same transform. */
  readonly request: ImportRequest;
  /** `undefined` without a transform. */
  readonly openTransform: OpenRunTransform | undefined;
  /** Keys of settings that may be shown: declared and not secret. */
  readonly shownSettings: ReadonlySet<string>;
}

/** Reads and compiles the code, which then runs in the sandbox. Errors: CommandError, with file and line, before anything is fetched. */
export async function transformHere(terminal: Terminal, request: ImportRequest): Promise<TransformHere> {
  const { transform } = request;
  if (transform === undefined) {
    return { request, openTransform: undefined, shownSettings: new Set(), [Symbol.asyncDispose]: async () => {} };
  }
  const host = openTrialHost(settingsFrom({}, terminal.process).settings, terminal.process);
  try {
    const { name, identity, subject, declared } = await read(host, transform);
    const recipe: RunTransform = { name, hash: slowHash(canonicalJson({ identity, settings: transform.settings })) };
    return {
      request: { ...request, options: { ...request.options, transform: recipe } },
      openTransform: async (_transform, receivedAt) =>
        openTransform({ ...host, now: Date.now }, subject, { name, projectId: 0, receivedAt }),
      shownSettings: new Set(declared.filter(({ secret }) => secret !== true).map(({ key }) => key)),
      [Symbol.asyncDispose]: () => host.close(),
    };
  } catch (error) {
    await host.close();
    throw error;
  }
}

interface Found {
  readonly name: string;
  /** Identity of the code. */
  readonly identity: unknown;
  readonly subject: TransformSubject;
  /** Fields that the plugin declares. */
  readonly declared: readonly PluginField[];
}

async function read(host: TrialHost, { path, settings }: RequestedTransform): Promise<Found> {
  if (!existsSync(path)) {
    const code = builtIn(path);
    const { slug: name, fields, version } = code;
    const subject = { code, fields, ...settingsOf(fields, settings), configId: 0 };
    return { name, identity: [name, version], subject, declared: fields };
  }
  const { name, program: code, sources, fields: declared } = await readPlugin(path, host.packages);
  const fields = declared ?? fieldsGiven({ values: settings, files: new Map() });
  const subject = { code, fields, ...settingsOf(fields, settings), configId: 0 };
  return { name, identity: sources, subject, declared: declared ?? [] };
}

/** Converts the settings of the command; a file setting is given as text. Errors: usage. */
function settingsOf(
  fields: readonly PluginField[],
  given: RequestedTransform['settings'],
): Pick<TransformSubject, 'settings' | 'attachments'> {
  const fileKeys = new Set(fields.filter(({ type }) => type === 'attachment').map(({ key }) => key));
  const pairs = Object.entries(given);
  const files = pairs.filter(([key]) => fileKeys.has(key)).map(([key, text]) => [key, fileOf(key, text)] as const);
  const values = Object.fromEntries(pairs.filter(([key]) => !fileKeys.has(key)));
  const parts = { values, files: new Map(files) };
  checkAllUsed(parts, [fields]);
  const { values: settings, files: attachments } = settingsFor(parts, fields, '--transform-setting');
  return { settings, attachments };
}

function fileOf(fileName: string, text: string): Attachment {
  return { fileName, contentType: 'text/plain', content: Buffer.from(text) };
}

function builtIn(name: string) {
  const candidates = builtInPlugins.filter((plugin) => plugin.kind === 'transformation');
  const found = candidates.find(({ slug }) => slug === name);
  if (found !== undefined) return found;
  throw new CommandError(
    'usage',
    `--transform: expected a file, a folder or an archive of a plugin, or the slug of a built-in transformation, got: ${name}`,
  );
}
