import type { TrialDatabase } from './database.ts';
import { redshiftHost } from './stand-in-answers.ts';

/** How a published plugin is set up for its trial. */
export interface TrialSettings {
  readonly settings?: Readonly<Record<string, string>>;
  /** Contents of files by key. */
  readonly attachments?: Readonly<Record<string, string>>;
  /** Failures that the plugin's own code makes of events that it does not expect. */
  readonly ownFault?: { readonly failure: RegExp; readonly why: string };
}

const posthog = 'https://app.posthog.com';
const filters = JSON.stringify([{ property: '$host', type: 'string', operator: 'is', value: 'shop.example.com' }]);
const schema = {
  onlyIngestEventsFromFile: true,
  eventSchemas: { testEvent: { acceptOnlySchemaProps: true, schema: { bar: { type: 'number', required: true } } } },
};
const routes = JSON.stringify([{ path: '/en/Products/:id', include: ['id'] }]);
const listOfUsers = 'externalId\nann@example.com\nu2\n';

/** `database`: a PostgreSQL server; undefined: none is there. */
export function trialSettings(name: string, database: TrialDatabase | undefined): TrialSettings {
  const redshift = {
    clusterHost: redshiftHost,
    clusterPort: database?.port ?? '5439',
    dbName: 'postgres',
    tableName: 'posthog_event',
    dbUsername: database?.user ?? 'unknown',
    dbPassword: 'none',
  };
  const ofDatabase: Record<string, TrialSettings> = {
    'PostgreSQL Export Plugin': {
      settings: {
        ...databaseHost(redshift),
        tableName: 'posthog_event_export',
        databaseUrl: '',
        hasSelfSignedCert: 'Yes',
      },
    },
    'Redshift Export Plugin': { settings: { ...redshift, tableName: 'redshift_event' } },
    'Redshift Import Plugin (BETA)': { settings: { ...redshift, tableName: 'import_event' } },
  };
  return ofDatabase[name] ?? byName[name] ?? {};
}

function databaseHost({ clusterHost, clusterPort, ...rest }: Readonly<Record<string, string>>): Record<string, string> {
  return { ...rest, host: clusterHost ?? '', port: clusterPort ?? '' };
}

const byName: Readonly<Record<string, TrialSettings>> = {
  'Advanced GeoIP': { settings: { discardIp: 'true', discardLibs: 'posthog-ios' } },
  'AWS Kinesis': {
    settings: {
      kinesisStreamName: 'events',
      iamAccessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      iamSecretAccessKey: 'secret',
      awsRegion: 'us-east-1',
      eventKey: 'event',
      additionalPropertyMappings: 'user:user',
    },
  },
  'Appfigures sync': {
    settings: {
      appfigures_username: 'ann',
      appfigures_password: 'secret',
      appfigures_client_key: 'key',
      appfigures_product_ids: '1',
    },
  },
  'Automatic Cohort Creator': {
    settings: {
      propertiesToTrack: 'plan',
      posthogApiKey: 'phx_1',
      posthogHost: posthog,
      namingConvention: 'Users with <property_name>=<property_value>',
    },
  },
  'Avo Inspector Plugin': { settings: { avoApiKey: 'key' } },
  'Bitbucket Release Tracker': { settings: { posthogApiKey: 'phx_1', bitbucketWorkspace: 'ace', repoName: 'shop' } },
  'Currency Normalization': { settings: { openExchangeRatesApiKey: 'key', normalizedCurrency: 'USD' } },
  'Customer.io': { settings: { customerioSiteId: 'site', customerioToken: 'token' } },
  'Downsampling Plugin': { settings: { percentage: '50' } },
  'Drop Events Based On Property': { settings: { property_key: 'odd_text' } },
  Engage: {
    settings: { publicKey: 'public', secret: 'secret' },
    ownFault: {
      failure: /Cannot convert undefined or null to object/,
      why: 'fails by itself on an event whose $set has a null inside a list',
    },
  },
  'Email Scoring': { settings: { mailboxlayerApiKey: 'key' } },
  'Event Sequence Timer Plugin': { settings: { eventsToTrack: '($pageview,Purchase Completed)' } },
  'Filter Out Plugin': { attachments: { filters } },
  'First Time Event Tracker': { settings: { events: 'Purchase Completed,app_opened' } },
  'GitHub Release Tracker': {
    settings: { posthogPersonalApiKey: 'phx_1', posthogProjectApiKey: 'phc_1', ghOwner: 'ace', ghRepo: 'shop' },
  },
  'Github Star Sync': { settings: { user: 'ace', repo: 'shop' } },
  'GitLab Release Tracker': { settings: { gitlabProjectId: '1' } },
  Hubspot: { settings: { hubspotApiKey: 'key', additionalPropertyMappings: 'plan:plan' } },
  Intercom: { settings: { intercomApiKey: 'key', triggeringEvents: '$identify,Purchase Completed' } },
  Laudspeaker: { settings: { writeKey: 'key', phEmail: 'email' } },
  'Migrator 3000 (Beta)': { settings: { host: 'app.posthog.com', projectApiKey: 'phc_1' } },
  OctoLane: { settings: { octolaneApiKey: 'key' } },
  'Orbit Love Report Sync': { settings: { orbitApiKey: 'key', workspaceId: 'ace' } },
  Outfunnel: { settings: { outfunnelUserId: 'u1' } },
  'Patterns App': { settings: { webhookUrl: 'https://hooks.example.com/patterns' } },
  Planhat: {
    settings: { planhatTenantToken: 'token', enableDebugLogs: 'yes' },
    attachments: { userWhitelist: listOfUsers },
  },
  'Posthog Ingestion Alert Plugin': {
    settings: {
      webHookUrlTriggered: 'https://hooks.example.com/triggered',
      webHookUrlResolved: 'https://hooks.example.com/resolved',
      posthogApiKey: 'phx_1',
      posthogHost: posthog,
    },
  },
  'Posthog PagerDuty plugin': {
    settings: {
      posthogTrendUrl: `${posthog}/insights/abc123`,
      posthogApiKey: 'phx_1',
      posthogProjectId: '1',
      pagerdutyIntegrationKey: 'key',
      posthogHost: posthog,
    },
  },
  'Posthog Shopify Plugin': { settings: { shopifyStore: 'compat', shopifyAccessToken: 'token' } },
  'Property Filter': { settings: { properties: '$ip,order.address.city,odd_null' } },
  Replicator: { settings: { host: 'app.posthog.com', project_api_key: 'phc_1' } },
  'Route Censor': { attachments: { routes } },
  'RSS Plugin': {
    settings: { posthogHost: posthog, posthogApiKey: 'phx_1', rssFeedUrl: 'https://news.example.com/feed' },
  },
  RudderStack: { settings: { dataPlaneUrl: 'https://hosted.rudderlabs.com', writeKey: 'key' } },
  'S3 Export Plugin': {
    settings: {
      awsAccessKey: 'AKIAIOSFODNN7EXAMPLE',
      awsSecretAccessKey: 'secret',
      awsRegion: 'us-east-1',
      s3BucketName: 'compat',
    },
  },
  'Salesforce Export Plugin': {
    settings: {
      salesforceHost: 'https://compat.my.salesforce.com',
      eventPath: 'events',
      username: 'ann',
      password: 'secret',
      consumerKey: 'key',
      consumerSecret: 'secret',
      eventsToInclude: '$identify,Purchase Completed',
    },
  },
  'Schema Enforcer': { attachments: { eventSchemaFile: JSON.stringify(schema) } },
  'SendVia Integration': { settings: { apiKey: 'key', workspaceId: 'w1' } },
  Sendgrid: { settings: { sendgridApiKey: 'key', customFields: 'plan=plan' } },
  'Stripe Plugin': { settings: { stripeApiKey: 'sk_1', saveUsersIfNotMatched: 'Yes' } },
  'Twitter Followers': { settings: { twitterHandle: '@millrace' } },
  'UTM Referrer': { settings: { internal_domains: 'shop.example.com' } },
  Unduplicates: { settings: { dedupMode: 'All Properties' } },
  'URL parameters to event properties': {
    settings: { parameters: 'plan,utm_source', prefix: 'url_', setAsUserProperties: 'true' },
  },
  'URL query parameter converter': { settings: { whiteList: 'plan,utm_source', setAsUserProperties: 'true' } },
  Variance: { settings: { webhookUrl: 'https://hooks.example.com/variance', authHeader: 'secret' } },
  Zendesk: {
    settings: {
      hostName: 'compat',
      userEmail: 'ann@example.com',
      zendeskApiKey: 'key',
      triggeringEvents: '$identify,Purchase Completed',
    },
  },
  'posthog databricks plugin': {
    settings: { DomainName: 'compat.cloud.databricks.com', ApiKey: 'key', clusterId: 'c1', dbName: 'events' },
  },
  'posthog-semver-flattener': { settings: { properties: 'app_version,other_version' } },
  'posthog-twilio-plugin': {
    settings: {
      accountSID: 'AC1',
      authToken: 'token',
      triggeringEventsAndNumber: 'Purchase Completed:+4712345678',
      senderPhoneNumber: '+4787654321',
    },
    ownFault: {
      failure: /request is not defined/,
      why: 'fails by itself on the events that it is to send: it uses a variable outside of its block',
    },
  },
};
