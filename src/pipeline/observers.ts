import type { Delivery, DeliveryEvent } from '../queue/jobs/deliveries.ts';
import { observing, type TransformConfig } from './transform/transform-configs.ts';
import { storedText, type EventDraft } from './event-draft.ts';
import { isoOfMicros } from '../base/clock.ts';

interface Batch extends Omit<Delivery, 'events'> {
  readonly events: DeliveryEvent[];
}

/** Plugins that subscribe to processed events: onEvent, exportEvents. */
export class Observers {
  #configs: readonly TransformConfig[] = [];
  #byProject = new Map<number, readonly Omit<Delivery, 'events'>[]>();
  #seen = new Map<string, Batch>();

  /** Called before each window with the enabled configs. */
  refresh(configs: readonly TransformConfig[]): void {
    if (configs === this.#configs) return;
    this.#configs = configs;
    const subscriptions = configs.flatMap(({ id: configId, projectId, capabilities }) =>
      observing
        .filter((method) => capabilities.methods.includes(method))
        .map((method) => ({ configId, projectId, method })),
    );
    this.#byProject = Map.groupBy(subscriptions, ({ projectId }) => projectId);
  }

  has(projectId: number): boolean {
    return this.#byProject.has(projectId);
  }

  /** Records an event as it is stored. `receivedAt` in ms. */
  record(draft: EventDraft, receivedAt: number): void {
    for (const subscription of this.#byProject.get(draft.projectId) ?? []) {
      const key = `${subscription.configId} ${subscription.method}`;
      const seen = this.#seen.get(key) ?? { ...subscription, events: [] };
      this.#seen.set(key, seen);
      const { uuid, event, distinctId, projectId: teamId } = draft;
      const propertiesText = storedText(draft);
      const timestamp = isoOfMicros(draft.micros);
      seen.events.push({ uuid, event, distinctId, teamId, timestamp, receivedAt, propertiesText, markers: null });
    }
  }

  take(): readonly Delivery[] {
    const taken = [...this.#seen.values()];
    this.#seen = new Map();
    return taken;
  }
}
