import { counted, firstOf, integer, plural } from '../../base/integer-text.ts';
import { networkFault } from '../../base/network-fault.ts';
import { SourceError, SourceWaitError, StillWrittenError } from '../source.ts';
import { FormatOptionsError } from '../formats/format.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { PreflightContext } from './preflight-context.ts';
import type { SourceSample } from './sample-source.ts';

/** Checks whether the source grants access and has records, and whether the first ones belong to the format. */
export const checkSource: PreflightCheck = {
  name: 'source',
  run: async (context) => {
    try {
      const sample = await context.sample();
      return [...extentOf(sample), ...readingOf(sample), ...missingFrom(sample), ...findingsFor(context, sample)];
    } catch (error) {
      return [refusal(error)];
    }
  },
  late: (_context, seconds) =>
    warning(
      'source_slow',
      `the source returned no record within ${seconds} s, so keys and format could not be tried`,
      'if its exports usually take long, ignore this; otherwise check its address and keys',
    ),
};

/** No host responds. Other faults may pass, and the export waits for that. */
const unreachable: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH']);
const filesShown = 3;
const settingErrors = [SourceError, SettingsError, FormatOptionsError];

function refusal(error: unknown): Finding {
  if (settingErrors.some((kind) => error instanceof kind))
    return problem('source_failed', (error as Error).message, null);
  if (!(error instanceof SourceWaitError)) throw error;
  const { message } = error;
  // The message says what to do.
  if (error instanceof StillWrittenError) return problem('source_still_written', message, null);
  if (unreachable.has(networkFault(error))) {
    return problem('source_unreachable', message, 'check that its address is right and that it runs');
  }
  return warning('source_busy', message, 'the export retries it');
}

/** Reports how far the import of a growing source would reach, which is settled when it begins. */
function extentOf({ extent }: SourceSample): readonly Finding[] {
  if (extent === undefined) return [];
  return [{ level: 'fine', code: 'source_extent', message: `Extent of the source: ${extent}`, advice: null }];
}

/** Reports how a file is read, which was detected from its content, so that a user can object. */
function readingOf({ readAs }: SourceSample): readonly Finding[] {
  if (readAs === undefined) return [];
  return [{ level: 'fine', code: 'fine', message: `${readAs.part} is read as ${readAs.how}`, advice: null }];
}

/** Reports before the load, not after it, what the source lacks. */
function missingFrom({ missing }: SourceSample): readonly Finding[] {
  return missing.map((detail) => warning('source_incomplete', detail.replace(/\.$/, ''), null));
}

function findingsFor(context: PreflightContext, sample: SourceSample): readonly Finding[] {
  const { words, options } = context;
  const { format, rejectedMax } = options;
  const { records, unreadable, events, firstFault } = sample;
  if (records === 0) {
    // A part without records may be a day without events; if no part has any, nothing can be imported.
    const level = sample.isWhole && options.scheduled !== true ? problem : warning;
    return [level('source_empty', `expected records, found ${emptiness(sample)}`, emptyAdvice(context, sample))];
  }
  const why = firstFault === undefined ? '' : ` (${firstFault.part}: ${firstFault.reason})`;
  if (unreadable === records) {
    const read = `expected records of the format ${format}, got none among the first ${integer(records)}${why}`;
    return [problem('format_unfit', read, formatAdvice(words, sample))];
  }
  if (unreadable / records > rejectedMax) {
    const read = `${integer(unreadable)} of the first ${counted(records, 'record')} cannot be read as ${format}${why}`;
    const advice = `correct ${words.formatOptions} or ${words.names}, or skip them with ${words.allowRejected(share(unreadable / records))}`;
    return [warning('records_unreadable', read, advice)];
  }
  if (sample.errorAnswers === records) {
    // The finding about missing data quotes them.
    const level = sample.isWhole && options.scheduled !== true ? problem : warning;
    return [
      level('source_empty', 'expected records, found only error messages of the source', 'export the data again'),
    ];
  }
  const first = firstOf(records, 'record');
  if (events === 0) {
    const read = `${first} ${plural(records, 'has', 'have')} the format ${format} and ${plural(records, 'is', 'are all')} skipped`;
    return [warning('records_unreadable', read, `check that ${words.formatOptions} and ${words.names} intend that`)];
  }
  const becomes = plural(records, 'becomes', 'become');
  return [fine(`${first} ${becomes} ${counted(events, 'event')} by the format ${format}`)];
}

function emptiness({ parts, firstPart, isWhole, leftOut, bytesTotal }: SourceSample): string {
  if (parts === 0) return 'nothing to fetch';
  if (bytesTotal === 0) return `${plural(parts, 'an empty file', 'only empty files')} (${firstPart})`;
  const why = leftOut.length === 0 ? '' : ` (${leftOut.slice(0, filesShown).join('; ')})`;
  return `none${isWhole ? '' : ' in its first parts'}${why}`;
}

function emptyAdvice({ words, options }: PreflightContext, { leftOut, bytesTotal }: SourceSample): string {
  if (leftOut.length === 0 && bytesTotal !== 0)
    return `check that ${words.range} and the settings of the source select existing records`;
  return `choose files with records of the format ${options.format}, or change ${words.format}`;
}

function formatAdvice(words: PreflightContext['words'], { betterFormats }: SourceSample): string {
  const [first, ...others] = betterFormats;
  if (first !== undefined && others.length === 0) return `change ${words.format}: ${first} reads them`;
  if (first !== undefined) {
    return `change ${words.format} to the one that wrote them: ${betterFormats.join(' and ')} read them equally`;
  }
  return `change ${words.format} or ${words.formatOptions}, or choose another source; mapping reads any records by rules`;
}

/** Rounds up, so that the share is sufficient. */
function share(value: number): number {
  return Math.min(1, Math.ceil(value * 100) / 100);
}
