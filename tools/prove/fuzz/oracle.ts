import type { Exchange } from './connection.ts';

/** What is wrong about what came of a request; undefined: nothing. */
export function faultOf({ request, answer, problem }: Exchange): string | undefined {
  if (problem !== undefined) return problem;
  if (answer === undefined) return undefined;
  const { status, headers } = answer;
  // Storage or load trouble is documented, with the time after which to try again.
  if (status === 503 && headers.has('retry-after')) return undefined;
  if (status >= 500) return `answered with ${status}`;
  if (request.statuses !== undefined && !request.statuses.has(status))
    return `answered with ${status}, which is not documented`;
  if (request.kind.startsWith('api') && status >= 400 && request.method !== 'HEAD') return faultOfError(answer.body);
  return undefined;
}

function faultOfError(body: Buffer): string | undefined {
  let error: unknown;
  try {
    error = JSON.parse(body.toString());
  } catch (cause) {
    return `an error that is no JSON: ${String(cause)}`;
  }
  const { type, code, detail } = error as Readonly<Record<string, unknown>>;
  const isComplete = [type, code, detail].every((each) => typeof each === 'string' && each !== '');
  return isComplete ? undefined : 'an error without type, code and detail';
}

/** Whether a good event has to be sent again. */
export function isRefusedForNow({ request, answer }: Exchange): boolean {
  return request.witness !== undefined && answer?.status === 503;
}
