/** Previews and preflights as the API asks for them: each in a process of its own. */
import type { LookAnswer } from '../api/import-looks.ts';
import type { PreflightOrder, PreviewOrder } from '../api/import-runs-deps.ts';
import { lookInProcess, type LookDeps } from './look-process.ts';

const shownCharsMax = 200;

export function previewInProcess(deps: LookDeps): (order: PreviewOrder, signal: AbortSignal) => Promise<LookAnswer> {
  return async ({ source, ...order }, signal) => {
    const { paths, path } = order.settings;
    const shown = String(paths ?? path ?? source.name).slice(0, shownCharsMax);
    return await lookInProcess(deps, { what: 'preview', order: { ...order, slug: source.slug }, shown }, signal);
  };
}

export function preflightInProcess(
  deps: LookDeps,
): (order: PreflightOrder, signal: AbortSignal) => Promise<LookAnswer> {
  return async (order, signal) =>
    await lookInProcess(deps, { what: 'preflight', order, shown: `the source of config ${order.configId}` }, signal);
}
