/** Representations of a config's front end. */
export type FrontendForm = 'record' | 'module' | 'page';

const forms: Readonly<Record<string, FrontendForm>> = {
  'application/json': 'record',
  'text/javascript': 'module',
  'application/javascript': 'module',
  'text/html': 'page',
};

/** Returns the preferred representation of an Accept header: highest q, then first. Defaults to the record. */
export function frontendForm(accept: string | string[] | undefined): FrontendForm {
  let best: FrontendForm = 'record';
  let bestQuality = 0;
  for (const part of (Array.isArray(accept) ? accept.join(',') : (accept ?? '')).split(',')) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const form = forms[type];
    const quality = qualityOf(parameters);
    if (form === undefined || quality <= bestQuality) continue;
    best = form;
    bestQuality = quality;
  }
  return best;
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  if (given === undefined) return 1;
  const quality = Number(given.slice(2));
  return Number.isFinite(quality) ? quality : 0;
}
