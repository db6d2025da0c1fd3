import type {
  FindingCode,
  PreflightCheckName,
  PreflightFinding,
  PreflightResult,
} from '../../wire/contract/import-preflight.ts';
import type { PreflightContext } from './preflight-context.ts';

/** A finding of a check, without the check's name. */
export type Finding = Omit<PreflightFinding, 'check'>;

export interface PreflightCheck {
  readonly name: PreflightCheckName;
  /** Resolves without findings if nothing applies. */
  run(context: PreflightContext): Promise<readonly Finding[]>;
  /** Returns the finding if the check exceeds the time limit, `seconds`. */
  late(context: PreflightContext, seconds: number): Finding;
}

type ToChange = readonly [message: string, advice: string | null];

export function problem(code: FindingCode, ...[message, advice]: ToChange): Finding {
  return finding('problem', code, message, advice);
}

export function warning(code: FindingCode, ...[message, advice]: ToChange): Finding {
  return finding('warning', code, message, advice);
}

export function fine(message: string): Finding {
  return finding('fine', 'fine', message, null);
}

function finding(level: Finding['level'], code: FindingCode, ...[message, advice]: ToChange): Finding {
  return { level, code, message: sentence(message), advice: advice === null ? null : sentence(advice) };
}

/** Begins a text in upper case, unless it begins with a path, an address or an option. */
function sentence(text: string): string {
  return text.replace(/^[a-z]+(?=[ ,])/, (word) => word.charAt(0).toUpperCase() + word.slice(1));
}

/** Formats problems as one text: what was found, and what to change. */
export function problemsText({ findings }: PreflightResult): string {
  return findings
    .filter(({ level }) => level === 'problem')
    .map(findingText)
    .join(' ');
}

export function findingText({ message, advice }: Pick<Finding, 'message' | 'advice'>): string {
  return advice === null ? `${message}.` : `${message}. ${advice}.`;
}
