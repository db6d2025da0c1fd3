/** The answer of a preview or preflight process (service/preview-process.ts), and the HTTP reply for it. */
import { ApiError } from '../../wire/contract/errors.ts';
import type { ApiReply, ApiRequest } from '../http/api-route.ts';
import { FormatOptionsError } from '../../imports/formats/format.ts';
import { RunFailedError } from '../../imports/run/leased-run.ts';
import { SourceError, SourceWaitError } from '../../imports/source.ts';
import { TransformError } from '../../imports/transform.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import { withoutSecrets } from '../../plugins/mask-secrets.ts';
import { SettingsError } from '../../plugins/plugin.ts';

export type PreviewAnswer =
  /** The response body as JSON: this thread does not parse content of a source. */
  | { readonly kind: 'found'; readonly json: string }
  /** An error in the source, the format or the transform; `setting` is the one to change. */
  | { readonly kind: 'refused'; readonly reason: string; readonly setting?: string | undefined }
  /** A retry may succeed. */
  | { readonly kind: 'busy'; readonly reason: string };

const refusals = [SourceError, SettingsError, FormatOptionsError, RunFailedError, TransformError];

/** Converts errors of source, format or transform. Returns `undefined` for a fault of the program. */
export function previewRefusal(error: unknown): PreviewAnswer | undefined {
  if (error instanceof SourceWaitError) return { kind: 'busy', reason: error.message };
  if (!(error instanceof Error) || !refusals.some((kind) => error instanceof kind)) return undefined;
  return { kind: 'refused', reason: error.message, setting: error instanceof SettingsError ? error.key : undefined };
}

interface Asked {
  readonly stopping?: ApiRequest['stopping'] | undefined;
  readonly gone?: ApiRequest['gone'] | undefined;
}

/** Aborted when the service stops or the client disconnects, since the result then has no reader. */
export function previewSignal({ stopping, gone }: Asked): AbortSignal {
  return AbortSignal.any([stopping, gone?.()].filter((signal) => signal !== undefined));
}

/** Removes secrets of the config from errors. @throws ApiError invalid_input, unavailable */
export function previewReply(
  answer: PreviewAnswer,
  { plugin, settings }: Pick<StoredConfig, 'plugin' | 'settings'>,
): ApiReply {
  if (answer.kind === 'found') {
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: answer.json };
  }
  const detail = withoutSecrets(answer.reason, plugin.fields, settings);
  if (answer.kind === 'busy') throw new ApiError('unavailable', detail, { headers: { 'retry-after': '10' } });
  const { setting } = answer;
  throw new ApiError('invalid_input', detail, { attr: setting === undefined ? null : `settings.${setting}` });
}
