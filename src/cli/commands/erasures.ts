import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Static } from 'typebox';
import { Value } from 'typebox/value';
import { isSigned } from '../../base/signatures.ts';
import { signedCertificateSchema, type SignedCertificate } from '../../wire/contract/erasure-certificates.ts';
import { erasedIdsMax, erasureSchemas, type ErasureCounts, type ErasureStart } from '../../wire/contract/erasures.ts';
import { taskSchema } from '../../wire/contract/tasks.ts';
import { addApiOptions, listUpTo, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { addKeptOutCommand } from './kept-out.ts';
import { CommandError } from '../exit-codes.ts';
import { showFields, showList, showRecord, showTable } from '../output.ts';
import { numberText, startProgressLine } from '../progress-line.ts';
import { collect, countOf } from '../read-arguments.ts';
import { addConditionOptions, selectionOf, type SelectionOptions } from '../selection-options.ts';
import { runUntilStopped } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';

const erasureSchema = taskSchema(erasureSchemas);
type Erasure = Static<typeof erasureSchema>;

interface WhatOptions extends ApiOptions, Omit<SelectionOptions, 'person'> {
  readonly person?: readonly string[];
  readonly idsFile?: string;
}

interface StartOptions extends WhatOptions {
  readonly keepOut?: boolean;
  readonly yes?: boolean;
  readonly detach?: boolean;
}

const pollMs = 1000;

export function erasuresCommand(parent: Command, terminal: Terminal): void {
  const erasures = parent.command('erasures');
  addCount(erasures, terminal);
  addStart(erasures, terminal);
  addKeptOutCommand(erasures, terminal);
  const idOf = (command: Command): Command => addApiOptions(command).argument('<id>', 'id of the erasure');
  const show = (options: ApiOptions, record: Erasure): Promise<void> =>
    showRecord(terminal, options, record, () => showErasure(terminal, record));

  addApiOptions(erasures.command('list'))
    .option('--limit <number>', 'number of erasures', '20')
    .description('list erasures, newest first')
    .action(async (options: ApiOptions & { readonly limit: string }) => {
      const api = projectApi(options);
      const max = countOf('--limit', options.limit, 1);
      const found = await listUpTo<Erasure>(api, `${api.root}/erasures/`, {}, max);
      await showList(terminal, options, found, () => showErasures(terminal, found));
    });

  idOf(erasures.command('show'))
    .description('show an erasure with its progress and result')
    .action(async (id: string, options: ApiOptions) => {
      const api = projectApi(options);
      await show(options, await api.get<Erasure>(pathOf(api, id)));
    });

  addCertificate(erasures, terminal);

  idOf(erasures.command('cancel'))
    .description('cancel an erasure that has not begun to delete')
    .action(async (id: string, options: ApiOptions) => {
      const api = projectApi(options);
      await show(options, await api.send<Erasure>('POST', `${pathOf(api, id)}cancel/`));
    });
}

function addCertificate(erasures: Command, terminal: Terminal): void {
  addApiOptions(erasures.command('certificate'))
    .argument('<id>', 'id of the erasure')
    .description('print the signed certificate of an erasure that is done, as JSON')
    .action(async (id: string, options: ApiOptions) => {
      const api = projectApi(options);
      terminal.json(await api.get<SignedCertificate>(`${pathOf(api, id)}certificate/`));
    });

  erasures
    .command('verify')
    .argument('<file>', 'certificate, as "erasures certificate" prints it')
    .option('--public-key <base64>', 'key that must have signed it; default: the one in the file')
    .description('verify the signature of a certificate, without a service')
    .action(async (file: string, { publicKey }: { readonly publicKey?: string }) => {
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        throw new CommandError('usage', `expected a readable file, got: ${String(error)}`);
      });
      verifyCertificate(terminal, parseCertificate(file, text), publicKey);
    });
}

function parseCertificate(file: string, text: string): SignedCertificate {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CommandError(
      'failed',
      `expected the certificate of an erasure in ${file}, got something that is not JSON`,
    );
  }
  if (Value.Check(signedCertificateSchema, parsed)) return parsed;
  throw new CommandError('failed', `expected the certificate of an erasure in ${file}, got other JSON`);
}

/** Errors: failed, unless the signature is that of the key. */
function verifyCertificate(terminal: Terminal, signed: SignedCertificate, key: string | undefined): void {
  const { certificate, signature } = signed;
  if (key !== undefined && key !== signature.public_key) {
    throw new CommandError('failed', `expected a certificate of the key ${key}, got one of ${signature.public_key}`);
  }
  if (!isSigned(certificate, { publicKey: signature.public_key, signature: signature.value })) {
    throw new CommandError(
      'failed',
      'expected the signature of the certificate, got one of something else: it was changed',
    );
  }
  const { project, erasure, completed_at, result } = certificate;
  showFields(terminal, {
    signature: 'valid',
    'public key': signature.public_key,
    project: `${project.name} (${project.uuid})`,
    erasure,
    completed: completed_at,
    ...countFields(result),
  });
  if (key === undefined) terminal.note('compare the public key with that of the project: "GET …/erasures/public_key/"');
}

function pathOf({ root }: ProjectApi, id: string): string {
  return `${root}/erasures/${encodeURIComponent(id)}/`;
}

function addWhat(command: Command): Command {
  return addConditionOptions(addApiOptions(command))
    .option('--person <uuid>', 'erase this person with all of its ids and events; repeatable', collect)
    .option('--ids-file <file>', 'erase the persons of these distinct_ids, one per line, with everything');
}

function addCount(erasures: Command, terminal: Terminal): void {
  addWhat(erasures.command('count'))
    .description('count what an erasure would remove, without removing anything')
    .action(async (options: WhatOptions) => {
      const api = projectApi(options);
      const counts = await countAll(api, await bodiesOf(options));
      await showRecord(terminal, options, counts, () => showCounts(terminal, counts));
    });
}

function addStart(erasures: Command, terminal: Terminal): void {
  addWhat(erasures.command('start'))
    .option('--keep-out', 'drop events of these persons from now on, live and in imports')
    .option('--yes', 'do not ask')
    .option('--detach', 'only start the erasure; "erasures show" has its progress')
    .description('erase persons with all of their events, or events by a filter; cannot be undone')
    .action(async (options: StartOptions) => {
      const api = projectApi(options);
      const bodies = keptOutIn(await bodiesOf(options), options);
      const counts = await countAll(api, bodies);
      const { events, persons } = counts;
      terminal.note(`the erasure removes ${numberText(events)} events of ${numberText(persons)} persons`);
      await confirm(terminal.process, 'Erase them permanently?', options);
      for (const body of bodies) await startOne(terminal, api, body, options);
    });
}

/** Errors: usage, for a filter of events. */
function keptOutIn(bodies: readonly ErasureStart[], { keepOut }: StartOptions): readonly ErasureStart[] {
  if (keepOut !== true) return bodies;
  if (bodies.some(({ selection }) => selection !== undefined)) {
    throw new CommandError(
      'usage',
      'expected persons (--person, --distinct-id, --ids-file) with --keep-out, got a filter',
    );
  }
  return bodies.map((body) => ({ ...body, keep_out: true }));
}

async function startOne(terminal: Terminal, api: ProjectApi, body: ErasureStart, options: StartOptions): Promise<void> {
  const started = await api.send<Erasure>('POST', `${api.root}/erasures/`, body);
  const shown = (record: Erasure) => showRecord(terminal, options, record, () => showErasure(terminal, record));
  if (options.detach === true) return shown(started);
  terminal.note(`erasure ${started.id} started; if this command is interrupted, it continues in the service`);
  await runUntilStopped(terminal.process, async (signal) => {
    const ended = await waitForErasure(terminal, api, started, signal);
    await shown(ended);
    if (ended.state !== 'done') throw new CommandError('failed', `the erasure is ${ended.state}: ${ended.error}`);
  });
}

async function waitForErasure(
  terminal: Terminal,
  api: ProjectApi,
  started: Erasure,
  signal: AbortSignal,
): Promise<Erasure> {
  let record = started;
  const line = startProgressLine(() => stateText(record), terminal.process.stderr);
  try {
    while (record.state === 'queued' || record.state === 'running') {
      await sleep(pollMs, undefined, { signal });
      record = await api.get<Erasure>(pathOf(api, started.id));
    }
  } finally {
    line.stop();
  }
  return record;
}

/** One request per 10,000 ids. Errors: usage, for a choice that is neither or both. */
async function bodiesOf({ person, idsFile, ...rest }: WhatOptions): Promise<readonly ErasureStart[]> {
  const { distinct_ids: ids = [], ...filter } = selectionOf(rest);
  const isFilter = Object.keys(filter).length > 0;
  const fromFile = idsFile === undefined ? [] : await idsIn(idsFile);
  if (isFilter) {
    if (person !== undefined || idsFile !== undefined) {
      throw new CommandError('usage', 'expected persons (--person, --ids-file) or a filter of events, got both');
    }
    return [{ selection: { ...filter, ...(ids.length > 0 && { distinct_ids: ids }) } }];
  }
  const all = [...new Set([...ids, ...fromFile])];
  if (all.length === 0 && person === undefined) {
    throw new CommandError('usage', 'expected --person, --distinct-id, --ids-file or a filter of events, got none');
  }
  const parts = Array.from({ length: Math.max(1, Math.ceil(all.length / erasedIdsMax)) }, (_, at) =>
    all.slice(at * erasedIdsMax, (at + 1) * erasedIdsMax),
  );
  const [first = [], ...others] = parts;
  const persons = person === undefined ? {} : { person_ids: [...person] };
  const ofFirst = first.length === 0 ? {} : { distinct_ids: first };
  return [{ ...persons, ...ofFirst }, ...others.map((part) => ({ distinct_ids: part }))];
}

async function idsIn(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CommandError('usage', `expected --ids-file to name a readable file, got: ${String(error)}`);
  });
  const ids = text.split(/\r?\n/).filter((line) => line !== '');
  if (ids.length === 0) throw new CommandError('usage', `expected one distinct_id per line in ${file}, got none`);
  return ids;
}

/** The sum over all requests, which have different ids. */
async function countAll(api: ProjectApi, bodies: readonly ErasureStart[]): Promise<ErasureCounts> {
  const counts: ErasureCounts[] = [];
  for (const body of bodies) {
    counts.push(await api.send<ErasureCounts>('POST', `${api.root}/erasures/dry_run/`, body));
  }
  const sum = (of: (each: ErasureCounts) => number): number => counts.reduce((all, each) => all + of(each), 0);
  const merged = (of: (each: ErasureCounts) => Readonly<Record<string, number>>): Record<string, number> => {
    const sums = new Map<string, number>();
    for (const each of counts) for (const [key, n] of Object.entries(of(each))) sums.set(key, (sums.get(key) ?? 0) + n);
    return Object.fromEntries(sums);
  };
  return {
    events: sum(({ events }) => events),
    rows: sum(({ rows }) => rows),
    by_name: merged(({ by_name }) => by_name),
    by_month: merged(({ by_month }) => by_month),
    distinct_ids: sum(({ distinct_ids }) => distinct_ids),
    persons: sum(({ persons }) => persons),
    dead_letters: sum(({ dead_letters }) => dead_letters),
    other_rows: sum(({ other_rows }) => other_rows),
    staged_runs: [...new Set(counts.flatMap(({ staged_runs }) => staged_runs))],
  };
}

function countFields(counts: ErasureCounts): Record<string, string> {
  return {
    events: numberText(counts.events),
    persons: numberText(counts.persons),
    'distinct ids': numberText(counts.distinct_ids),
    'dead letters': numberText(counts.dead_letters),
    'other rows': numberText(counts.other_rows),
    'staged runs': counts.staged_runs.join(', ') || '-',
  };
}

function showCounts(terminal: Terminal, counts: ErasureCounts): void {
  showFields(terminal, countFields(counts));
  if (counts.events === 0) return;
  showTable(terminal, Object.entries(counts.by_name), { EVENT: ([name]) => name, EVENTS: ([, n]) => numberText(n) });
  showTable(terminal, Object.entries(counts.by_month), { MONTH: ([month]) => month, EVENTS: ([, n]) => numberText(n) });
}

function stateText({ state, error, progress }: Erasure): string {
  const step = state === 'running' && progress !== null ? ` (${progress.step})` : '';
  return `${state}${step}${error === '' ? '' : `: ${error}`}`;
}

function showErasure(terminal: Terminal, record: Erasure): void {
  const { id, request, progress, result, created_at, ended_at } = record;
  const counts = result ?? progress?.counts ?? undefined;
  showFields(terminal, {
    erasure: id,
    state: stateText(record),
    of: request.by,
    'kept out': request.keep_out === true ? 'yes' : 'no',
    selection: request.selection === null ? '-' : JSON.stringify(request.selection),
    ...(counts && countFields(counts)),
    created: created_at,
    ended: ended_at ?? '-',
  });
}

function showErasures(terminal: Terminal, erasures: readonly Erasure[]): void {
  showTable(terminal, erasures, {
    ERASURE: ({ id }) => id,
    STATE: (record) => stateText(record),
    OF: ({ request }) => request.by,
    EVENTS: ({ result, progress }) => numberText((result ?? progress?.counts)?.events ?? 0),
    PERSONS: ({ result, progress }) => numberText((result ?? progress?.counts)?.persons ?? 0),
    CREATED: ({ created_at }) => created_at,
  });
}
