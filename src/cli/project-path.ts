import { CommandError } from './exit-codes.ts';

export const projectsPath = '/api/projects/';

/** Errors: usage. */
export function onePath(id: string): string {
  return `${projectsPath}${projectNumber(id)}/`;
}

/** Errors: usage. */
export function projectNumber(text: string, option = ''): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new CommandError('usage', `${option}expected the number of a project, got: ${text}`);
}

export function noProject(id: string | number): string {
  return `no project ${id}; "millrace projects list" shows them`;
}
