import { isObject, objectIn } from '../../base/json.ts';

/** A response of a `/batch/` endpoint. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  /** From Retry-After; 0 without that header. */
  readonly retryAfterMs: number;
  /** From its headers: the target's time, and a redirect. */
  readonly date?: string | undefined;
  readonly location?: string | undefined;
}

export interface BatchRejection {
  readonly index: number;
  readonly code: string;
  readonly detail: string;
}

type JsonRecord = Readonly<Record<string, unknown>>;

/** 408, 429, 5xx: the same request may succeed later. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Parses seconds or a date, as HTTP allows; at most an hour, in ms. */
export function retryAfterMs(header: string | null | undefined): number {
  if (header === null || header === undefined) return 0;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), 3_600_000);
}

/** Reads `rejected` of a response that accepted the other events. */
export function rejectionsIn(text: string, count: number): readonly BatchRejection[] {
  return rejections(objectIn(text)?.['rejected'], count);
}

/** Reads the events that a refusal of the whole batch names. */
export function listedRejections(text: string, count: number): readonly BatchRejection[] {
  const answer = objectIn(text);
  if (answer === undefined) return [];
  return rejections(Array.isArray(answer['errors']) ? answer['errors'] : [answer], count);
}

export function codeIn(text: string): string | undefined {
  const code = objectIn(text)?.['code'];
  return typeof code === 'string' ? code : undefined;
}

/** Returns the message of an error body `{type, code, detail, attr}`, with the invalid field; otherwise the beginning of the text. */
export function detailIn(text: string): string | undefined {
  const answer = objectIn(text);
  if (answer === undefined) return text.trim() === '' || text.startsWith('<') ? undefined : text.trim().slice(0, 500);
  const { detail, attr } = answer;
  if (typeof detail !== 'string') return undefined;
  return typeof attr === 'string' && attr !== '' ? `${attr}: ${detail}` : detail;
}

/** Keeps one rejection per event; those that do not name an event of the batch are skipped. */
function rejections(list: unknown, count: number): BatchRejection[] {
  if (!Array.isArray(list)) return [];
  const byIndex = new Map<number, BatchRejection>();
  for (const each of list as readonly unknown[]) {
    if (!isObject(each)) continue;
    const index = indexIn(each);
    if (!Number.isInteger(index) || index < 0 || index >= count) continue;
    byIndex.set(index, { index, code: String(each['code'] ?? 'rejected'), detail: String(each['detail'] ?? '') });
  }
  return [...byIndex.values()];
}

/** `batch[3].distinct_id` → 3. */
function indexIn({ index, attr }: JsonRecord): number {
  if (typeof index === 'number') return index;
  const found = typeof attr === 'string' ? /^batch(?:\[|__)(\d+)/.exec(attr)?.[1] : undefined;
  return found === undefined ? -1 : Number(found);
}
