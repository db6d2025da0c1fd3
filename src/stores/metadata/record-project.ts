import type { Actor } from './activity.ts';
import type { Fields } from './changed-fields.ts';
import type { Project } from './projects.ts';
import type { Queries } from './queries.ts';
import { recordChange } from './record-change.ts';

export interface ProjectChange {
  readonly activity: 'created' | 'updated' | 'token_reset' | 'deleted';
  /** Absent if the project is new. */
  readonly before?: Project;
  /** Absent if the project was deleted. */
  readonly after?: Project;
  /** ms since the epoch. */
  readonly now: number;
}

/** Writes the change of a project to the activity log. A deletion appears in the logs of the remaining projects. */
export async function recordProject(
  tx: Queries,
  actor: Actor,
  { activity, before, after, now }: ProjectChange,
): Promise<void> {
  const project = after ?? before;
  if (project === undefined) return;
  await recordChange(tx, actor, {
    projectId: after?.id ?? null,
    scope: 'Project',
    itemId: project.id,
    name: project.name,
    activity,
    before: before && logged(before),
    after: after && logged(after),
    now,
  });
}

function logged({ name, timezone, apiToken, spread }: Project): Fields {
  const token = `${apiToken.slice(0, 4)}...${apiToken.slice(-4)}`;
  return { name, timezone, api_token: token, ...(spread > 1 && { spread: String(spread) }) };
}
