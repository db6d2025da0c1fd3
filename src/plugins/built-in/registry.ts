import { createRegistry, type PluginRegistry } from '../plugin-registry.ts';
import { systemClock } from '../../base/clock.ts';
import { amplitude } from '../../imports/sources/amplitude.ts';
import { azure } from '../../imports/sources/azure.ts';
import { bigquery } from '../../imports/sources/bigquery.ts';
import { clickhouse } from '../../imports/sources/clickhouse.ts';
import { duckdb } from '../../imports/sources/duckdb.ts';
import { files } from '../../imports/sources/files.ts';
import { gcs } from '../../imports/sources/gcs.ts';
import { kafka } from '../../imports/sources/kafka.ts';
import { mixpanel } from '../../imports/sources/mixpanel.ts';
import { posthog } from '../../imports/sources/posthog.ts';
import { mysql } from '../../imports/sources/mysql.ts';
import { postgres } from '../../imports/sources/postgres.ts';
import { s3 } from '../../imports/sources/s3.ts';
import { sampleEvents } from '../../imports/sources/sample-events.ts';
import { snowflake } from '../../imports/sources/snowflake.ts';
import { sqlite } from '../../imports/sources/sqlite.ts';
import { urls } from '../../imports/sources/urls.ts';
import type { Plugin } from '../plugin.ts';
import { dropEvents } from '../transformations/drop-events.ts';
import { filterProperties } from '../transformations/filter-properties.ts';
import { redactPersonalData } from '../transformations/redact-personal-data.ts';
import { rename } from '../transformations/rename.ts';
import { urlParameters } from '../transformations/url-parameters.ts';
import { downsampling } from '../transformations/downsampling.ts';
import { dropEventsOnProperty } from '../transformations/drop-events-on-property.ts';
import { ipRemoval } from '../transformations/ip-removal.ts';
import { removeNulls } from '../transformations/remove-nulls.ts';
import { semverFlattener } from '../transformations/semver-flattener.ts';
import { taxonomy } from '../transformations/taxonomy.ts';
import { geoip } from '../transformations/geoip.ts';
import { advancedGeoip } from '../transformations/advanced-geoip.ts';
import { userAgent } from '../transformations/user-agent.ts';
import { urlNormalizer } from '../transformations/url-normalizer.ts';
import { urlPlaceholders } from '../transformations/url-placeholders.ts';
import { urlParser } from '../transformations/url-parser.ts';
import { urlMasking } from '../transformations/url-masking.ts';
import { routeCensor } from '../transformations/route-censor.ts';
import { languageSplitter } from '../transformations/language-splitter.ts';
import { propertyFlattener } from '../transformations/property-flattener.ts';
import { timestampParts } from '../transformations/timestamp-parts.ts';
import { remapValues } from '../transformations/remap-values.ts';
import { filterOut } from '../transformations/filter-out.ts';
import { referrer } from '../transformations/referrer.ts';
import { utm } from '../transformations/utm.ts';
import { deDuplicator } from '../transformations/de-duplicator.ts';
import { currency } from '../transformations/currency.ts';
import { botFilter } from '../transformations/bot-filter.ts';
import { firstTimeEvents } from '../transformations/first-time-events.ts';
import { sequenceTimer } from '../transformations/sequence-timer.ts';
import { hashProperties } from '../transformations/hash-properties.ts';
import { anonymise } from '../transformations/anonymise.ts';
import { campaignCleaning } from '../transformations/campaign-cleaning.ts';
import { schemaEnforcer } from '../transformations/schema-enforcer.ts';
import { emailScoring } from '../transformations/email-scoring.ts';

/** All built-in plugins. */
export const builtInPlugins: readonly Plugin[] = [
  dropEvents,
  filterProperties,
  redactPersonalData,
  rename,
  urlParameters,
  downsampling,
  dropEventsOnProperty,
  ipRemoval,
  removeNulls,
  semverFlattener,
  taxonomy,
  geoip,
  advancedGeoip,
  userAgent,
  urlNormalizer,
  urlPlaceholders,
  urlParser,
  urlMasking,
  routeCensor,
  languageSplitter,
  propertyFlattener,
  timestampParts,
  remapValues,
  filterOut,
  referrer,
  utm,
  deDuplicator,
  currency,
  botFilter,
  firstTimeEvents,
  sequenceTimer,
  hashProperties,
  anonymise,
  campaignCleaning,
  schemaEnforcer,
  emailScoring,
  sampleEvents(systemClock),
  files,
  urls,
  s3,
  duckdb,
  gcs,
  kafka,
  azure,
  mixpanel,
  amplitude,
  posthog,
  postgres,
  mysql,
  clickhouse,
  sqlite,
  bigquery,
  snowflake,
];

export const builtInRegistry: PluginRegistry = createRegistry(builtInPlugins);
