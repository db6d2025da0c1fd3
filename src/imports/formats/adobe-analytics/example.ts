import { fastId } from '../derived-uuids.ts';
import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

export const adobeExample: Format['example'] = {
  options: { user_id: 'evar7' },
  records: [
    {
      hit_time_gmt: '1714558830',
      hitid_high: '3057065293683690001',
      hitid_low: '6851172488903270002',
      visid_high: '2791471528899189638',
      visid_low: '791228704714081521',
      post_visid_high: '2791471528899189638',
      post_visid_low: '791228704714081521',
      exclude_hit: '0',
      page_event: '0',
      post_page_event: '0',
      page_url: 'https://shop.example/cart?tab=1',
      post_page_url: 'https://shop.example/cart',
      post_pagename: 'cart',
      evar1: 'member',
      post_evar1: 'guest',
      post_evar7: 'u-1',
      post_event_list: '1,100,201=2.50',
      post_product_list: 'Shoes;Boot;2;79.80;;',
      post_keywords: '::empty::',
      user_agent: 'Mozilla/5.0',
      s_resolution: '1920x1080',
      visit_num: '3',
    },
  ],
  events: importedEvents('adobe-analytics', [
    {
      uuid: fastId('adobe-analytics', 'identify', '2791471528899189638_791228704714081521', 'u-1'),
      event: '$identify',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.000Z',
      properties: { $anon_distinct_id: '2791471528899189638_791228704714081521' },
    },
    {
      uuid: fastId(
        'adobe-analytics',
        'hit',
        '3057065293683690001',
        '6851172488903270002',
        '2791471528899189638_791228704714081521',
        '1714558830',
      ),
      event: '$pageview',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.000Z',
      properties: {
        $current_url: 'https://shop.example/cart',
        pagename: 'cart',
        evar1: 'guest',
        evar7: 'u-1',
        $useragent: 'Mozilla/5.0',
        visit_num: 3,
        success_events: ['Purchase', 'Custom Event 2=2.50'],
        products: [{ category: 'Shoes', product: 'Boot', quantity: 2, revenue: 79.8 }],
        $screen_width: 1920,
        $screen_height: 1080,
        $host: 'shop.example',
        $pathname: '/cart',
      },
    },
  ]),
};
