import type {
  FindingCode,
  PreflightCheckName,
  PreflightFinding,
  PreflightResult,
} from '../../wire/contract/import-preflight.ts';
import type { PreflightContext } from './preflight-context.ts';

/** A finding as a check makes it, which need not say its own name. */
export type Finding = Omit<PreflightFinding, 'check'>;

export interface PreflightCheck {
  readonly name: PreflightCheckName;
  /** Without a word: there is nothing to look at. */
  look(context: PreflightContext): Promise<readonly Finding[]>;
  /** What follows when the look takes longer than there is time for. `seconds`: the time there was. */
  late(context: PreflightContext, seconds: number): Finding;
}

type ToChange = readonly [message: string, advice: string | null];

export function problem(code: FindingCode, ...[message, advice]: ToChange): Finding {
  return { level: 'problem', code, message, advice };
}

export function warning(code: FindingCode, ...[message, advice]: ToChange): Finding {
  return { level: 'warning', code, message, advice };
}

export function fine(message: string): Finding {
  return { level: 'fine', code: 'fine', message, advice: null };
}

/** Problems as one text: what was found, and what to change. */
export function problemsText({ findings }: PreflightResult): string {
  return findings
    .filter(({ level }) => level === 'problem')
    .map(findingText)
    .join(' ');
}

export function findingText({ message, advice }: Pick<Finding, 'message' | 'advice'>): string {
  return advice === null ? `${message}.` : `${message}; ${advice}.`;
}
