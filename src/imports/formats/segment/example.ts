import type { Format } from '../format.ts';

export const segmentExample: Format['example'] = {
  records: [
    {
      type: 'track',
      event: 'Order Done',
      userId: 'u1',
      anonymousId: 'a1',
      messageId: 'm1',
      timestamp: '2021-03-04T05:06:07.089Z',
      properties: { total: 7 },
      context: { page: { url: 'https://shop.example/cart' }, campaign: { source: 'mail' } },
    },
    {
      type: 'identify',
      userId: 'u1',
      messageId: 'm2',
      timestamp: '2021-03-04T05:06:08Z',
      traits: { plan: 'pro' },
    },
  ],
  events: [
    {
      uuid: '5e9e9bf4-9145-5eb0-a24e-99404cf1aadc',
      event: 'Order Done',
      distinct_id: 'u1',
      timestamp: '2021-03-04T05:06:07.089Z',
      properties: {
        $current_url: 'https://shop.example/cart',
        utm_source: 'mail',
        $host: 'shop.example',
        $anon_distinct_id: 'a1',
        total: 7,
      },
    },
    {
      uuid: 'f176f9f4-3da6-501e-ac62-72ca69fcb25c',
      event: '$identify',
      distinct_id: 'u1',
      timestamp: '2021-03-04T05:06:08Z',
      properties: {
        $set: {
          plan: 'pro',
        },
      },
    },
  ],
};
