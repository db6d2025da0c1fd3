import type { OutboundFetch } from '../../../plugins/outbound/outbound.ts';
import { CarrierError, type Carrier } from './carrier.ts';
import { postJson } from './post.ts';
import { linesOf, titleOf } from './words.ts';

/** Posts `{"text": …}`, as Slack, Mattermost, Rocket.Chat and others take it at their incoming webhooks. */
export function createSlack(fetch: OutboundFetch): Carrier {
  return async (letter) => {
    const { url } = letter.address;
    if (url === undefined) throw new CarrierError('expected an address to post to, got none', { retry: false });
    const text = [`*${escaped(titleOf(letter))}*`, ...linesOf(letter).map(escaped)].join('\n');
    await postJson(fetch, url, JSON.stringify({ text }));
  };
}

/** These three begin mentions and links there: a name of somebody's must not call a channel. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
