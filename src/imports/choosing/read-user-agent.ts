import type { JsonObject } from '../../base/json.ts';
import { createBrowserProperties } from '../../plugins/transformations/user-agent.ts';
import type { Change } from './step.ts';

/** As the transformation `user-agent` does it: what the source says itself of browser and system stays. */
export function readUserAgent(): Change {
  const populate = createBrowserProperties({});
  return (event) => {
    // Readers make properties of JSON.
    const properties = { ...event.properties } as JsonObject;
    populate(properties);
    return { ...event, properties };
  };
}
