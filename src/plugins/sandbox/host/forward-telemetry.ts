import type { InstanceServices, LogLine } from '../sandbox.ts';
import type { AuthorPlaces } from './author-places.ts';
import type { WireTelemetry } from '../wire/messages.ts';

/** What a plugin logged and counted goes to its services. The process has bounded and checked it. */
export function forwardTelemetry(
  services: InstanceServices,
  instanceId: string,
  places: AuthorPlaces,
  text: string,
): void {
  const { logs, metrics } = JSON.parse(text) as WireTelemetry;
  for (const [time, source, level, message] of logs) {
    services.log({ time, level: level as LogLine['level'], source, message: places(message), instanceId });
  }
  for (const [name, kind, value] of metrics) services.metric(name, kind as 'sum' | 'min' | 'max', value);
}
