import type { EventHead } from '../../src/pipeline/transform/chain-event.ts';
import { randomFrom } from './events.ts';

/** An event as stored in the log: properties as JSON text, about 600 bytes in total. */
export interface PageEvent extends EventHead {
  readonly text: string;
}

const hosts = ['shop.example.com', 'www.example.com', 'localhost'];
const pages = ['/Pricing/', '/docs/import', '/signup', '/blog/one-machine/', '/cart'];
const names = ['page viewed', 'buttonClicked', 'Report Opened', 'file_exported', '$pageview'];
const campaigns = ['?utm_source=mail&utm_campaign=Spring%20Sale', '', '?ref=7', '', '?q=a+b&utm_source=ads#top'];

/** Deterministic: the same run always has the same events. */
export function pageEvents(count: number, seed = 1): PageEvent[] {
  const random = randomFrom(seed);
  const pick = (from: readonly string[]): string => from[Math.floor(random() * from.length)] ?? '';
  return Array.from({ length: count }, (_, index) => {
    const host = random() < 0.05 ? 'localhost' : pick(hosts.slice(0, 2));
    const properties = {
      $current_url: `https://${host}${pick(pages)}${pick(campaigns)}`,
      $host: host,
      $ip: `12.${Math.floor(random() * 256)}.31.${Math.floor(random() * 256)}`,
      $app_version: `${Math.floor(random() * 4)}.${Math.floor(random() * 30)}.${Math.floor(random() * 9)}`,
      $lib: 'web',
      $session_id: `0197${index.toString(16).padStart(8, '0')}-7c1e-7bb1-a0f2-5f0e7d3c9a11`,
      $screen_width: 1440,
      $referrer: 'https://news.example.org/2026/a-page-about-mills',
      'Plan Name': random() < 0.2 ? 'pro' : 'free',
      token: 'secret-of-the-page',
      address: { city: 'Bern', street: 'Marktgasse 1' },
      coupon: random() < 0.5 ? null : 'SPRING',
      amount: Math.round(random() * 10_000) / 100,
      returning: random() < 0.5,
    };
    return {
      uuid: `01970000-0000-7000-8000-${index.toString(16).padStart(12, '0')}`,
      event: pick(names),
      distinctId: `person-${Math.floor(random() * 5000)}`,
      timestamp: new Date(Date.UTC(2026, 0, 1) + Math.floor(random() * 3e10)).toISOString(),
      text: JSON.stringify(properties),
    };
  });
}
