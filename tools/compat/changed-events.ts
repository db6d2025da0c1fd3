import type { SampleEvent } from './events.ts';
import { delay, type Service } from './service.ts';

interface StoredEvent {
  readonly id: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Properties that the chain itself adds. */
const markers = new Set(['$plugins_succeeded', '$plugins_failed']);

/** What is stored of the sample events, in their order; undefined for those that are not. They are known by their times. */
async function storedSamples(service: Service, project: number, sent: readonly SampleEvent[]) {
  const path = `/api/projects/${project}/events/?limit=1000`;
  const { results } = (await service.api<{ results: StoredEvent[] }>('GET', path)).body;
  const byTime = new Map(results.map((each) => [Date.parse(each.timestamp), each]));
  return sent.map((each) => byTime.get(Date.parse(each.timestamp)));
}

function textOf({ id, event, distinct_id, properties }: StoredEvent, sent: SampleEvent | undefined): string {
  const own = Object.entries(properties).filter(([key]) => !markers.has(key));
  return JSON.stringify([id === sent?.uuid, event, distinct_id, own.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** The sample events as they are stored where no plugin is. */
export async function plainTexts(
  service: Service,
  project: number,
  sent: readonly SampleEvent[],
): Promise<readonly string[]> {
  for (;;) {
    const stored = await storedSamples(service, project, sent);
    const texts = stored.map((each, index) => (each === undefined ? '' : textOf(each, sent[index])));
    if (!texts.includes('')) return texts;
    await delay(300);
  }
}

/** How many of those stored are not as they would be without a plugin. */
export async function countChanged(
  service: Service,
  project: number,
  sent: readonly SampleEvent[],
  plain: readonly string[],
): Promise<number> {
  const stored = await storedSamples(service, project, sent);
  return stored.filter((each, index) => each !== undefined && textOf(each, sent[index]) !== plain[index]).length;
}
