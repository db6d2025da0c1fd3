import { isObject } from '../../base/json.ts';
import { SourceWaitError, type RecordChunk, type SourceContext } from '../source.ts';
import type { Pace } from './pace.ts';
import { chunkOf, parsePage } from './parse-page.ts';
import { askAgain, readWhole, type ExportApi } from './export-api.ts';

const name = 'Mixpanel';
const pageBytesMax = 256 * 1024 * 1024;

export interface ProfileDeps {
  readonly api: ExportApi;
  readonly profilesPace: Pace;
  readonly headers: Readonly<Record<string, string>>;
  readonly profilesUrl: string;
  readonly project: Readonly<Record<string, string>>;
}

/** A group key of a project: its number in Mixpanel and the type of its groups. */
export interface GroupKey {
  readonly dataGroupId: string;
  readonly type: string;
}

/**
 * Yields profiles of users, or of the groups of one key, page by page. The session of the first page fixes the result, so the
 * pages must add up to its total; fewer profiles throw SourceWaitError.
 */
export async function* profileChunks(
  deps: ProfileDeps,
  context: SourceContext,
  group?: GroupKey,
): AsyncGenerator<RecordChunk> {
  let session = '';
  let bytesRead = 0;
  let records = 0;
  for (let page = 0; ; page += 1) {
    const bytes = await askAgain(context, () => readPage(deps, { session, page, group }, context));
    bytesRead += bytes.length;
    const { results, sessionId, pageSize, total } = contentOf(bytes);
    session = sessionId;
    records += results.length;
    if (results.length > 0) yield chunkOf(group === undefined ? results : ofGroup(results, group), bytesRead);
    if (results.length >= pageSize && results.length > 0 && session !== '') continue;
    if (total === undefined || records >= total) return;
    const message = `${name}: expected ${total} profiles, got ${records}; the response was cut off`;
    throw new SourceWaitError(message, { unlimited: false });
  }
}

/** Responses name the key of a group `$distinct_id` and do not contain its type. */
function ofGroup(results: readonly unknown[], { type }: GroupKey): readonly unknown[] {
  return results.map((result) =>
    isObject(result) ? { $group_key: type, $group_id: result['$distinct_id'], ...result } : result,
  );
}

async function readPage(
  { api, profilesPace, headers, profilesUrl, project }: ProfileDeps,
  { session, page, group }: { readonly session: string; readonly page: number; readonly group: GroupKey | undefined },
  context: SourceContext,
): Promise<Buffer> {
  await profilesPace(context, true);
  const body = new URLSearchParams({
    ...(session === '' ? {} : { session_id: session, page: String(page) }),
    ...(group && { data_group_id: group.dataGroupId }),
  });
  const response = await api.ask(
    {
      url: `${profilesUrl}/api/2.0/engage?${new URLSearchParams(project)}`,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: body.toString(),
    },
    context.signal,
  );
  return readWhole(response, { name, bytesMax: pageBytesMax, signal: context.signal });
}

function contentOf(bytes: Buffer) {
  const { results, session_id: session, page_size: size, total } = parsePage(bytes, name);
  if (!Array.isArray(results) || !Number.isInteger(size)) {
    const message = `${name}: expected a page of profiles with results and page_size, got none`;
    throw new SourceWaitError(message, { unlimited: false });
  }
  return {
    // Sound: an array whose items are passed through.
    results: results as readonly unknown[],
    sessionId: typeof session === 'string' ? session : '',
    pageSize: Number(size),
    total: typeof total === 'number' ? total : undefined,
  };
}
