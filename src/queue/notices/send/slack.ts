import type { OutboundFetch } from '../../../plugins/outbound/outbound.ts';
import { CarrierError, type Carrier } from './carrier.ts';
import { postJson } from './post.ts';
import { linesOf, titleOf } from './words.ts';

/** Posts `{"text": …}`, the format of the incoming webhooks of Slack, Mattermost, Rocket.Chat and others. */
export function createSlack(fetch: OutboundFetch): Carrier {
  return async (letter) => {
    const { url } = letter.address;
    if (url === undefined) throw new CarrierError('expected a webhook URL, got none', { retry: false });
    const text = [`*${escaped(titleOf(letter))}*`, ...linesOf(letter).map(escaped)].join('\n');
    await postJson(fetch, url, JSON.stringify({ text }));
  };
}

/** Escapes the characters that begin mentions and links: a name in the data must not notify a channel. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
