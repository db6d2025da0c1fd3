import type { NameTable } from '../../../formats/format.ts';
import { formats } from '../../../formats/registry.ts';

/**
 * Names in converted events that look specific to the source (`$…`, `[Amplitude] …`) but are in no table and not known here: mostly
 * properties that deserve a row in the table of names.
 */
export interface UnmappedNames {
  isEvent(name: string): boolean;
  isProperty(name: string): boolean;
}

const knownEvents =
  `$pageview $pageleave $screen $autocapture $identify $create_alias $merge_dangerously $groupidentify $set
  $exception $rageclick $web_vitals $feature_flag_called $opt_in $opt_out $performance_event $snapshot $heatmap
  $web_experiment_applied $survey_shown $survey_sent $survey_dismissed $ai_generation $ai_trace $ai_span $ai_embedding
  $capture_metrics $dead_click $csp_violation`.split(/\s+/);

const knownProperties =
  `$active_feature_flags $anon_distinct_id $import_identity $app_build $app_name $app_namespace $app_version $browser
  $browser_language $browser_language_prefix $browser_type $browser_version $client_session_initial_referring_host
  $configured_session_timeout_ms $cookieless_mode $current_url $device $device_id $device_manufacturer $device_model
  $device_name $device_type $duration $el_text $elements $elements_chain $event_type $exception_list $feature_flag
  $feature_flag_response $geoip_city_name $geoip_continent_code $geoip_continent_name $geoip_country_code
  $geoip_country_name $geoip_disable $geoip_latitude $geoip_longitude $geoip_postal_code $geoip_subdivision_1_code
  $geoip_subdivision_1_name $geoip_time_zone $group_key $group_set $group_type $groups $group_0 $group_1 $group_2
  $group_3 $group_4 $host $initial_referrer $initial_referring_domain $insert_id $ip $is_emulator $is_identified $lib
  $lib_custom_api_host $lib_version $locale $network_carrier $network_cellular $network_wifi $os $os_name $os_version
  $pageview_id $pathname $plugins_deferred $plugins_failed $plugins_succeeded $prev_pageview_pathname
  $process_person_profile $raw_user_agent $referrer $referring_domain $screen_density $screen_dpi $screen_height
  $screen_name $screen_width $search_engine $sent_at $session_entry_url $session_id $set $set_once $timezone
  $timezone_offset $title $touch_x $touch_y $unset $user_id $user_agent $viewport_height $viewport_width $window_id
  $time $transformations_succeeded $transformations_skipped $transformations_failed $is_server $host_name`.split(/\s+/);

/** Nothing is unmapped in a format without tables: it translates in code, or already uses the names of the target. */
export function findUnmapped(slug: string, own: NameTable, names: NameTable): UnmappedNames {
  if (![own, names].some((table) => countNames(table) > 0)) return { isEvent: () => false, isProperty: () => false };
  return {
    isEvent: remember(slug, namesIn('events', knownEvents, names)),
    isProperty: remember(slug, namesIn('properties', knownProperties, names)),
  };
}

function countNames({ events, properties }: NameTable): number {
  return Object.keys(events).length + Object.keys(properties).length;
}

function namesIn(part: 'events' | 'properties', known: readonly string[], names: NameTable): ReadonlySet<string> {
  const tables = [names, ...formats.map((format) => format.names)];
  return new Set([...known, ...tables.flatMap((table) => Object.values(table[part])).filter((name) => name !== null)]);
}

const rememberedMax = 10_000;

function remember(slug: string, known: ReadonlySet<string>): (name: string) => boolean {
  const answers = new Map<string, boolean>();
  // Readers prefix names without a counterpart with the source.
  const own = [`$${slug}_`, '$import_', '$geoip_', '$feature/', '$initial_', '$group_'];
  return (name) => {
    if (!looksLikeSource(name)) return false;
    const answer = answers.get(name);
    if (answer !== undefined) return answer;
    if (answers.size >= rememberedMax) answers.clear();
    const isUnmapped = !known.has(name) && !own.some((prefix) => name.startsWith(prefix));
    answers.set(name, isUnmapped);
    return isUnmapped;
  };
}

function looksLikeSource(name: string): boolean {
  const first = name.charCodeAt(0);
  return first === 0x24 || first === 0x5b || (first === 0x6d && name.startsWith('mp_'));
}
