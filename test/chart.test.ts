import { Ajv } from 'ajv';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { settingDefinitions, type SettingDefinition } from '../src/server/config/settings.ts';
import { rolesProblem } from '../src/server/service/roles.ts';
import { loadSettings } from '../src/server/config/load.ts';
import { createLog } from '../src/server/telemetry/log.ts';
import { createMetrics } from '../src/server/telemetry/metrics.ts';
import { registerCapture, type CaptureRouteDeps } from '../src/wire/capture/routes.ts';
import { readChartValues } from '../tools/reference/helm-values-page.ts';
import { chartValues } from './support/chart-values.ts';
import { renderChart, valuesOfChart, type Manifest, type Values } from './support/render-chart.ts';
import { read } from './source-tree.ts';

const roles = [...settingDefinitions.roles.choices];
const known = new Set(Object.values(settingDefinitions).map(({ env }: SettingDefinition) => env));

/** The API version of every kind that the chart renders. */
const versions: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  Service: 'v1',
  ServiceAccount: 'v1',
  PodDisruptionBudget: 'policy/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  NetworkPolicy: 'networking.k8s.io/v1',
  Ingress: 'networking.k8s.io/v1',
  ScaledObject: 'keda.sh/v1alpha1',
  PodMonitor: 'monitoring.coreos.com/v1',
  PrometheusRule: 'monitoring.coreos.com/v1',
};

const of = (manifests: readonly Manifest[], kind: string): readonly Manifest[] =>
  manifests.filter((each) => each.kind === kind);

/** The value at `path` of plain JSON. */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((found, name) => (found as Values | undefined)?.[name], value);
}

const roleOf = ({ metadata }: Manifest): string => metadata.labels['app.kubernetes.io/component'] ?? '';
const podOf = (deployment: Manifest): unknown => at(deployment.spec, 'template', 'spec');
const containerOf = (deployment: Manifest): unknown => at(podOf(deployment), 'containers', 0);
const envOf = (deployment: Manifest): readonly { readonly name: string; readonly value?: string }[] =>
  at(containerOf(deployment), 'env') as readonly { name: string; value?: string }[];

const all = Object.entries(chartValues).map(([name, values]) => ({ name, values, manifests: renderChart(values) }));
const [{ manifests: byDefault } = { manifests: [] }, production, everything, byGroup] = all;

describe.each(all)('the chart with $name', ({ values, manifests }) => {
  const deployments = of(manifests, 'Deployment');

  it('has values that its schema permits, and renders known kinds with valid names once', () => {
    const check = new Ajv({ strict: false }).compile(JSON.parse(read('deploy/helm/values.schema.json')) as object);
    expect([check(valuesOfChart(values)), check.errors]).toEqual([true, null]);
    for (const { kind, apiVersion } of manifests) expect([kind, apiVersion]).toEqual([kind, versions[kind]]);
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/ [a-z0-9-]{1,63}$/.test(name))).toEqual([]);
  });

  it('renders a deployment and a disruption budget per role, and a service for those that clients call', () => {
    expect(deployments.map(roleOf).toSorted()).toEqual(roles.toSorted());
    for (const each of deployments) {
      const selector = at(each.spec, 'selector', 'matchLabels') as object;
      expect(at(each.spec, 'template', 'metadata', 'labels')).toMatchObject(selector);
      expect(at(containerOf(each), 'args')).toEqual(['serve', '--roles', roleOf(each)]);
      const budget = of(manifests, 'PodDisruptionBudget').find((other) => roleOf(other) === roleOf(each));
      expect(budget?.spec).toEqual({ maxUnavailable: 1, selector: { matchLabels: selector } });
      const spread = at(podOf(each), 'topologySpreadConstraints') as readonly Values[];
      expect(spread.map(({ topologyKey }) => topologyKey)).toEqual([
        'kubernetes.io/hostname',
        'topology.kubernetes.io/zone',
      ]);
      for (const { labelSelector } of spread) expect(labelSelector).toEqual({ matchLabels: selector });
    }
    expect(of(manifests, 'Service').map(roleOf)).toEqual(['api', 'capture']);
  });

  it('uses existing settings with which every role starts', () => {
    for (const each of deployments) {
      const env = envOf(each);
      expect(env.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
      const secrets = {
        DATABASE_URL: 'postgres://db/m',
        CLICKHOUSE_URL: 'http://ch:8123/m',
        MILLRACE_ROLES: roleOf(each),
      };
      const given = Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
      expect(rolesProblem(loadSettings({ env: { ...given, ...secrets } }).settings)).toBeUndefined();
    }
  });

  it('gives a pod enough time to stop', () => {
    for (const each of deployments) {
      const drainMs = Number(envOf(each).find(({ name }) => name === 'MILLRACE_DRAIN_MS')?.value);
      const graceMs = Number(at(podOf(each), 'terminationGracePeriodSeconds')) * 1000;
      expect(graceMs).toBeGreaterThan(drainMs + 10_000);
    }
  });

  it('probes, limits and confines every container', () => {
    for (const each of deployments) {
      expect(podOf(each)).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      const container = containerOf(each) as Values;
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/livez', port: 'http' } },
        livenessProbe: { httpGet: { path: '/livez', port: 'http' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
        resources: { requests: { memory: expect.any(String) }, limits: { memory: expect.any(String) } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      });
      const volumes = new Set((at(podOf(each), 'volumes') as readonly Values[]).map(({ name }) => name));
      const mounts = container['volumeMounts'] as readonly { name: string; mountPath: string }[];
      expect(mounts.map(({ name }) => name).filter((name) => !volumes.has(name))).toEqual([]);
      // The only writable directories of the read-only root.
      expect(mounts.slice(0, 2).map(({ mountPath }) => mountPath)).toEqual(['/data', '/tmp']);
    }
  });
});

describe('values of the chart', () => {
  const rendered = everything?.manifests ?? [];
  const values = chartValues['every value changed'] ?? {};

  it('reach the pods', () => {
    const { volumes, volumeMounts, extraEnv, imagePullSecrets, tolerations, affinity, nodeSelector } = values;
    for (const each of of(rendered, 'Deployment')) {
      const pod = { imagePullSecrets, tolerations, affinity, nodeSelector, serviceAccountName: 'uses-the-bucket' };
      expect(podOf(each)).toMatchObject({ ...pod, priorityClassName: 'high' });
      expect(at(podOf(each), 'volumes')).toEqual(expect.arrayContaining(volumes as unknown[]));
      expect(at(podOf(each), 'volumes', 0)).toEqual({ name: 'data', ...(values['dataVolume'] as object) });
      expect(at(containerOf(each), 'volumeMounts')).toEqual(expect.arrayContaining(volumeMounts as unknown[]));
      expect(at(containerOf(each), 'env')).toEqual(expect.arrayContaining(extraEnv as unknown[]));
      expect(at(containerOf(each), 'image')).toBe(`registry.example.com/millrace:0.1.0@sha256:${'0a'.repeat(32)}`);
      expect(at(each.spec, 'template', 'metadata')).toMatchObject({
        labels: values['podLabels'],
        annotations: values['podAnnotations'],
      });
    }
    const [account] = of(rendered, 'ServiceAccount');
    expect(account).toMatchObject({
      automountServiceAccountToken: false,
      metadata: { name: 'uses-the-bucket', annotations: { 'example.com/role': 'bucket: "é"' } },
    });
    expect(at(containerOf(byDefault.find(({ kind }) => kind === 'Deployment') as Manifest), 'image')).toBe(
      'millrace:0.1.0',
    );
  });

  it('replace the fixed number of pods by an autoscaler', () => {
    const replicas = Object.fromEntries(
      of(rendered, 'Deployment').map((each) => [roleOf(each), each.spec['replicas']]),
    );
    expect(replicas).toEqual({ capture: undefined, pipeline: undefined, api: 2, jobs: 1 });
    const [byCpu] = of(rendered, 'HorizontalPodAutoscaler');
    expect(byCpu?.spec).toMatchObject({
      scaleTargetRef: { name: 'millrace-capture' },
      minReplicas: 2,
      maxReplicas: 10,
    });
    const [byLag] = of(rendered, 'ScaledObject');
    expect(byLag?.spec).toMatchObject({ scaleTargetRef: { name: 'millrace-pipeline' }, fallback: { replicas: 3 } });
    expect(at(byLag?.spec, 'triggers', 0, 'metadata', 'query')).toBe('max(millrace_buffer_events{lane="live"})');
    const [ofKafka] = of(byGroup?.manifests ?? [], 'ScaledObject');
    const { kafkaTopicPrefix } = settingDefinitions;
    expect(at(ofKafka?.spec, 'triggers')).toEqual([
      {
        type: 'kafka',
        metadata: {
          bootstrapServers: 'kafka-0:9093,kafka-1:9093',
          topic: `${kafkaTopicPrefix.default}.live`,
          consumerGroup: kafkaTopicPrefix.default,
          lagThreshold: '5000',
          offsetResetPolicy: 'earliest',
        },
        authenticationRef: { name: 'kafka' },
      },
    ]);
    // A pipeline without slots would have nothing to do.
    const scaling = readChartValues().find(({ path }) => path.join('.') === 'roles.pipeline.autoscaling')?.default;
    expect(4 * Number(at(scaling, 'max'))).toBe(settingDefinitions.slots.default);
  });

  it('let Prometheus find the pods once, and the operator load the alerts', () => {
    const [monitor] = of(rendered, 'PodMonitor');
    const [deployment] = of(rendered, 'Deployment');
    const labels = at(deployment?.spec, 'template', 'metadata', 'labels');
    expect(labels).toMatchObject(at(monitor?.spec, 'selector', 'matchLabels') as object);
    const port = at(containerOf(deployment as Manifest), 'ports', 0, 'name');
    expect(at(monitor?.spec, 'podMetricsEndpoints')).toEqual([{ port, path: '/metrics' }]);
    const annotations = (each: Manifest | undefined) =>
      Object.keys(at(each?.spec, 'template', 'metadata', 'annotations') ?? {});
    const isForScrape = (name: string): boolean => name.startsWith('prometheus.io/');
    expect(annotations(deployment).filter(isForScrape)).toEqual([]);
    expect(annotations(of(byDefault, 'Deployment')[0]).filter(isForScrape)).toHaveLength(3);
    const rules = read('deploy/alerts.yml').replaceAll('docs/guides/runbooks.md', 'https://wiki.example.com/runbooks');
    expect(of(rendered, 'PrometheusRule')[0]?.spec).toEqual(parse(rules));
  });

  it('restrict who may connect to which role', () => {
    const policies = of(rendered, 'NetworkPolicy');
    expect(policies.map(roleOf).toSorted()).toEqual(roles.toSorted());
    const { clients, egress } = values['networkPolicy'] as { clients: object[]; egress: object[] };
    for (const policy of policies) {
      const peers = (policy.spec['ingress'] as { from: object[] }[]).flatMap(({ from }) => from);
      expect(peers).toEqual([
        { namespaceSelector: {} },
        ...(['capture', 'api'].includes(roleOf(policy)) ? clients : []),
      ]);
      expect((policy.spec['egress'] as object[]).slice(1)).toEqual(egress);
    }
    expect(of(byDefault, 'NetworkPolicy')).toEqual([]);
  });

  it('are documented, each with what it is for', () => {
    const undocumented = readChartValues().filter(({ meaning, path }) => meaning === '' && path[0] !== 'roles');
    expect(undocumented.map(({ path }) => path.join('.'))).toEqual([]);
  });

  it('of the example use a Secret for what is secret', () => {
    const { settings = {} } = chartValues['the example of production'] as {
      settings?: Readonly<Record<string, string>>;
    };
    const isSecret = (name: string): boolean =>
      Object.values(settingDefinitions).some((each: SettingDefinition) => each.env === name && each.secret === true);
    expect(Object.keys(settings).filter(isSecret)).toEqual([]);
    expect(production?.manifests.length).toBeGreaterThan(15);
  });
});

describe('the ingress', () => {
  const rules = at(of(everything?.manifests ?? [], 'Ingress')[0]?.spec, 'rules', 0, 'http', 'paths') as readonly {
    readonly path: string;
    readonly backend: { readonly service: { readonly name: string } };
  }[];
  /** The longest matching prefix wins, element by element. */
  const serviceOf = (path: string): string | undefined =>
    rules
      .filter((rule) => rule.path === '/' || path === rule.path || path.startsWith(`${rule.path}/`))
      .toSorted((one, other) => other.path.length - one.path.length)[0]?.backend.service.name;

  it('routes every path of capture to capture, and all others to the API', async () => {
    const app = Fastify();
    const paths = new Set<string>();
    app.addHook('onRoute', ({ url }) => void paths.add(url));
    const { settings } = loadSettings({ env: {} });
    registerCapture(app, {
      settings,
      metrics: createMetrics(),
      log: createLog('silent'),
    } as unknown as CaptureRouteDeps);
    await app.ready();
    await app.close();
    expect(paths.size).toBeGreaterThan(20);
    // A prefix cannot separate it from the API, which answers 404: no flag exists.
    const inApi = /^\/api\/projects\/:project_id\/feature_flags\//;
    expect([...paths].filter((path) => !inApi.test(path) && serviceOf(path) !== 'millrace-capture')).toEqual([]);
    const { paths: described } = JSON.parse(read('docs/reference/openapi.json')) as { paths: object };
    const ofApi = Object.keys(described).filter((path) => path.startsWith('/api/'));
    expect(ofApi.filter((path) => serviceOf(path) !== 'millrace-api')).toEqual([]);
  });

  it('has the paths of the table of load balancers in the guide', () => {
    const [, cell = ''] = /^\| (`\/batch`.*) \| `capture` \|$/m.exec(read('docs/guides/scale-out.md')) ?? [];
    const listed = [...cell.matchAll(/`([^`]+)`/g)].map(([, path]) => path);
    expect(listed).toEqual(rules.map(({ path }) => path).filter((path) => path !== '/'));
  });
});

describe('the guide of Kubernetes', () => {
  it('has a Secret with every secret that a role needs for its servers', () => {
    const [, command = ''] = /^(kubectl create secret[^]*?)^helm/m.exec(read('docs/guides/scale-out.md')) ?? [];
    const names = [...command.matchAll(/--from-literal=([A-Z_]+)=/g)].map(([, name = '']) => name);
    const { databaseUrl, clickhouseUrl, kafkaUser, kafkaPassword } = settingDefinitions;
    const { importStagingAccessKeyId, importStagingSecretAccessKey } = settingDefinitions;
    const needed = [databaseUrl, clickhouseUrl, importStagingAccessKeyId, importStagingSecretAccessKey, kafkaUser];
    expect(names).toEqual([...needed, kafkaPassword].map(({ env }) => env));
  });
});

describe('the compose file of a cluster', () => {
  interface Service {
    readonly command?: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
    readonly mem_limit?: string;
    readonly pids_limit?: number;
    readonly ports?: readonly string[];
    readonly image?: string;
    readonly healthcheck?: object;
    readonly deploy?: { readonly replicas: number };
    readonly read_only?: boolean;
    readonly cap_drop?: readonly string[];
  }
  const { services } = parse(read('deploy/compose.cluster.yml'), { merge: true }) as {
    services: Record<string, Service>;
  };
  const own = Object.entries(services).filter(([, { command }]) => command?.[0] === 'serve');

  it('runs one service per role, and two pipelines', () => {
    expect(own.map(([name]) => name).toSorted()).toEqual(roles.toSorted());
    for (const [name, { command }] of own) expect(command?.slice(0, 3)).toEqual(['serve', '--roles', name]);
    expect(services['pipeline']?.deploy).toEqual({ replicas: 2 });
  });

  it('uses existing settings with which every role starts', () => {
    for (const [name, { environment }] of own) {
      expect(Object.keys(environment).filter((each) => !known.has(each))).toEqual([]);
      const { settings } = loadSettings({ env: { ...environment, MILLRACE_ROLES: name } });
      expect(rolesProblem(settings)).toBeUndefined();
    }
  });

  it('names exact versions of the servers', () => {
    const images = Object.values(services).flatMap(({ image = '' }) => (image === 'millrace' ? [] : [image]));
    // PostgreSQL has two numbers: a third would be none of its releases.
    expect(images.filter((image) => !/^postgres:\d+\.\d+$|:v?\d+\.\d+\.\d+(\.\d+)?$/.test(image))).toEqual([]);
    expect(images).toHaveLength(4);
  });

  it('limits every container, publishes on this machine only, and drops unneeded privileges', () => {
    for (const [name, each] of Object.entries(services)) {
      expect([name, each.mem_limit, each.pids_limit]).toEqual([
        name,
        expect.stringMatching(/^\d+[gm]$/),
        expect.any(Number),
      ]);
      for (const port of each.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
    for (const [, each] of own) expect([each.read_only, each.cap_drop]).toEqual([true, ['ALL']]);
    for (const name of ['kafka', 'postgres', 'clickhouse']) expect(services[name]?.healthcheck).toBeDefined();
  });
});
