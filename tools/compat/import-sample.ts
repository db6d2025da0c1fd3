import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ReportResult } from '../../src/imports/stages/report/report.ts';
import type { Service } from './service.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const run = promisify(execFile);
const minutesMax = 5;

/** A published file, and how it is imported. */
export interface Sample {
  readonly tool: string;
  readonly format: string;
  /** In the folder; a directory is read with all its files. */
  readonly file: string;
  readonly repo: string;
  readonly path: string;
  /** 40 hex digits. */
  readonly commit: string;
  readonly licence: string;
  /** `key=value`, as after --format-option; `key=@file` takes the value from a file of the folder. */
  readonly options?: readonly string[];
  /** Rules of the format `mapping`. */
  readonly mapping?: object;
  /** More of the command's arguments. */
  readonly arguments?: readonly string[];
  /** How many events the other tool's own tests expect of the file (`event`: of this name only), and where they say so. */
  readonly published?: { readonly events: number; readonly event?: string; readonly where: string };
  /** Of this file on purpose: it is no export, or a broken one. */
  readonly refused?: boolean;
  /** What differs from what the other tool makes of it, and why; one sentence. */
  readonly differs?: string;
}

export interface SampleResult {
  readonly sample: Sample;
  readonly verdict: ReportResult['verdict'] | 'refused';
  readonly records: number;
  readonly skipped: number;
  /** Why they were skipped on purpose. */
  readonly skippedFor: readonly string[];
  readonly events: number;
  /** Of these: they join two ids, and formats add them. */
  readonly identifies: number;
  readonly duplicates: number;
  readonly rejected: number;
  /** Why records were rejected, or the import refused. */
  readonly note: string;
  readonly isAsExpected: boolean;
}

export interface SampleOptions {
  /** For reports and what a run keeps. */
  readonly directory: string;
  readonly folder: string;
  readonly sample: Sample;
  readonly index: number;
}

/** Imports it into a new project, reads back what is stored, and compares. */
export async function importSample(service: Service, options: SampleOptions): Promise<SampleResult> {
  const { directory, folder, sample, index } = options;
  const project = await service.api<{ readonly api_token: string }>('POST', '/api/projects/', {
    name: `${index} ${sample.tool}`,
  });
  const report = join(directory, `${index}.json`);
  const args = ['import', 'run', sample.format, sample.file, '--to', service.url];
  args.push('--project-key', project.body.api_token, '--api-key', service.key, '--rejected-max', '100%');
  args.push('--no-progress', '--report', report, '--state-dir', join(directory, String(index)));
  for (const option of sample.options ?? []) args.push('--format-option', option);
  args.push(...(sample.arguments ?? []));
  if (sample.mapping !== undefined) {
    const rules = join(directory, `${index}-rules.json`);
    await writeFile(rules, JSON.stringify(sample.mapping));
    args.push('--format-option', `mapping=@${rules}`);
  }
  const said = await saidBy(args, folder);
  const text = await readFile(report, 'utf8').catch(() => undefined);
  const result = text === undefined ? undefined : (JSON.parse(text) as ReportResult);
  return result === undefined || result.verdict === 'unfinished'
    ? refusedResult(sample, said)
    : resultOf(sample, result);
}

/** What the command wrote to stderr, however it ended: the report says how. Paths are those of the folder. */
async function saidBy(args: readonly string[], folder: string): Promise<string> {
  try {
    const { stderr } = await run(process.execPath, [program, ...args], { cwd: folder, timeout: minutesMax * 60_000 });
    return stderr;
  } catch (error) {
    if (error instanceof Error && 'stderr' in error) return String(error.stderr);
    throw error;
  }
}

function refusedResult(sample: Sample, said: string): SampleResult {
  const none = { records: 0, skipped: 0, skippedFor: [], events: 0, identifies: 0, duplicates: 0, rejected: 0 };
  const note = refusalOf(said).replaceAll(basename(sample.file), basename(sample.path));
  return { sample, verdict: 'refused', ...none, note, isAsExpected: sample.refused === true };
}

/** The problems of the preflight with their advice, else the last sentence; places of this machine are cut off. */
function refusalOf(said: string): string {
  const lines = said.trim().split('\n');
  const problems = lines.flatMap((line, index) => {
    const message = /^problem +\S+(?: \S+)? {2,}(.*)$/.exec(line)?.[1];
    if (message === undefined) return [];
    const advice = /^ +→ (.*)$/.exec(lines[index + 1] ?? '')?.[1];
    return [advice === undefined ? message : `${message}: ${advice}`];
  });
  const [last = ''] = lines.slice(-1);
  const sentence = last.replace(/^error: /, '').replace(/ \(in the \w+ stage; .*$/, '');
  return withoutPlaces(problems.length > 0 ? problems.join('; ') : sentence);
}

function withoutPlaces(text: string): string {
  return text.replaceAll(/(?:\/[^\s/:,;]+)+\/([^\s/:,;]+)/g, '$1');
}

function resultOf(sample: Sample, report: ReportResult): SampleResult {
  const { records, events } = report.totals;
  const rejected = records.rejected + events.rejected;
  return {
    sample,
    verdict: report.verdict,
    records: records.read,
    skipped: records.skipped,
    skippedFor: Object.keys(records.skipped_by_reason),
    events: events.loaded,
    identifies: countOf(report, '$identify'),
    duplicates: events.duplicates,
    rejected,
    note: report.errors.map(({ count, reason }) => `${count} × ${reason}`).join('; '),
    isAsExpected: isAsExpected(sample, report, rejected),
  };
}

/** A count that differs from the published one, and records that were rejected, have to be accounted for. */
function isAsExpected({ published, differs, refused }: Sample, report: ReportResult, rejected: number): boolean {
  if (refused === true || report.verdict !== 'exact') return false;
  const isPublished = published === undefined || published.events === publishedCountOf(report, published.event);
  return differs !== undefined || (isPublished && rejected === 0);
}

/** Other tools have no events that join two ids, so that they are not counted. */
function publishedCountOf(report: ReportResult, name: string | undefined): number {
  return name === undefined ? report.totals.events.loaded - countOf(report, '$identify') : countOf(report, name);
}

function countOf({ events }: ReportResult, name: string): number {
  return events.find(({ event }) => event === name)?.loaded ?? 0;
}
