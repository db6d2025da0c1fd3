import { isoMicros } from '../../src/base/clock.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { createOrganization } from '../../src/stores/metadata/organizations.ts';
import { createProject } from '../../src/stores/metadata/projects.ts';
import { noticeEventsOf } from '../../src/wire/contract/notices.ts';
import { createDestination, type Destination } from '../../src/queue/notices/destinations.ts';
import type { NoticeInput } from '../../src/queue/notices/outbox.ts';
import { now } from './metadata-rows.ts';

export interface NoticeProject {
  readonly organizationId: string;
  readonly projectId: number;
}

export async function addNoticeProject(db: Metadata): Promise<NoticeProject> {
  const { id: organizationId } = await createOrganization(db, { name: 'o' }, now);
  const { id: projectId } = await createProject(db, { organizationId, name: 'Shop' }, now);
  return { organizationId, projectId };
}

/** A webhook that receives every event by default. `projectId` null: of the service. */
export function addDestination(
  db: Metadata,
  { organizationId, projectId }: { readonly organizationId: string; readonly projectId: number | null },
  more: Partial<Destination> = {},
): Promise<Destination> {
  const {
    name = 'ops',
    kind = 'webhook',
    address = { url: 'http://127.0.0.1:1/', secret: 'a secret of the test' },
    events = noticeEventsOf(projectId === null ? 'service' : 'project'),
    enabled = true,
  } = more;
  return createDestination(db, { organizationId, projectId }, { name, kind, address, events, enabled }, now);
}

export function failedRun(projectId: number): NoticeInput {
  return {
    event: 'run_failed',
    state: 'happened',
    projectId,
    summary: 'Import from files failed: no such file',
    action: 'Correct it.',
    target: 'imports/3/runs/r1',
    details: { run: 'r1', config: 3 },
  };
}

/** Due at once, whatever was to be waited for. */
export async function makeDue(db: Metadata): Promise<void> {
  await db
    .updateTable('notices')
    .set({ run_at: isoMicros(0) })
    .execute();
}
