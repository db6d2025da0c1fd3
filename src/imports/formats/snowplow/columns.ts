/**
 * The 131 columns of an enriched event in the order in which a line of text has them: a public fact of the format, the
 * same since version R102.
 */
export const snowplowColumns: readonly string[] = [
  ...split(
    'app_id platform etl_tstamp collector_tstamp dvce_created_tstamp event event_id txn_id name_tracker v_tracker',
  ),
  ...split('v_collector v_etl user_id user_ipaddress user_fingerprint domain_userid domain_sessionidx network_userid'),
  ...split('geo_country geo_region geo_city geo_zipcode geo_latitude geo_longitude geo_region_name ip_isp'),
  ...split('ip_organization ip_domain ip_netspeed page_url page_title page_referrer page_urlscheme page_urlhost'),
  ...split('page_urlport page_urlpath page_urlquery page_urlfragment refr_urlscheme refr_urlhost refr_urlport'),
  ...split('refr_urlpath refr_urlquery refr_urlfragment refr_medium refr_source refr_term mkt_medium mkt_source'),
  ...split('mkt_term mkt_content mkt_campaign contexts se_category se_action se_label se_property se_value'),
  ...split('unstruct_event tr_orderid tr_affiliation tr_total tr_tax tr_shipping tr_city tr_state tr_country'),
  ...split('ti_orderid ti_sku ti_name ti_category ti_price ti_quantity pp_xoffset_min pp_xoffset_max pp_yoffset_min'),
  ...split('pp_yoffset_max useragent br_name br_family br_version br_type br_renderengine br_lang br_features_pdf'),
  ...split('br_features_flash br_features_java br_features_director br_features_quicktime br_features_realplayer'),
  ...split('br_features_windowsmedia br_features_gears br_features_silverlight br_cookies br_colordepth br_viewwidth'),
  ...split('br_viewheight os_name os_family os_manufacturer os_timezone dvce_type dvce_ismobile dvce_screenwidth'),
  ...split('dvce_screenheight doc_charset doc_width doc_height tr_currency tr_total_base tr_tax_base'),
  ...split('tr_shipping_base ti_currency ti_price_base base_currency geo_timezone mkt_clickid mkt_network etl_tags'),
  ...split('dvce_sent_tstamp refr_domain_userid refr_dvce_tstamp derived_contexts domain_sessionid derived_tstamp'),
  ...split('event_vendor event_name event_format event_version event_fingerprint true_tstamp'),
];

/** Columns that hold numbers, which text and CSV write as text. */
export const snowplowNumbers: ReadonlySet<string> = new Set([
  ...split('txn_id domain_sessionidx geo_latitude geo_longitude page_urlport refr_urlport se_value tr_total tr_tax'),
  ...split('tr_shipping ti_price ti_quantity pp_xoffset_min pp_xoffset_max pp_yoffset_min pp_yoffset_max br_viewwidth'),
  ...split('br_viewheight dvce_screenwidth dvce_screenheight doc_width doc_height tr_total_base tr_tax_base'),
  ...split('tr_shipping_base ti_price_base'),
]);

/** Columns that hold 1 or 0 for true or false. */
export const snowplowFlags: ReadonlySet<string> = new Set([
  ...split('br_features_pdf br_features_flash br_features_java br_features_director br_features_quicktime'),
  ...split('br_features_realplayer br_features_windowsmedia br_features_gears br_features_silverlight br_cookies'),
  ...split('dvce_ismobile'),
]);

function split(names: string): readonly string[] {
  return names.split(' ');
}
