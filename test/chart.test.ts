import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { settingDefinitions, type SettingDefinition } from '../src/server/config/settings.ts';
import { rolesProblem } from '../src/server/service/roles.ts';
import { loadSettings } from '../src/server/config/load.ts';
import { hasHelm, renderByHand, renderByHelm, type Manifest } from './support/render-chart.ts';
import { read } from './source-tree.ts';

type Json = Readonly<Record<string, unknown>>;
const helm = hasHelm();
const roles = [...settingDefinitions.roles.choices];
const known = new Set(Object.values(settingDefinitions).map(({ env }: SettingDefinition) => env));

const text = { type: 'string', minLength: 1 } as const;
const quantities = { type: 'object', required: ['memory'], additionalProperties: { type: ['string', 'number'] } };
const probe = {
  type: 'object',
  required: ['httpGet'],
  properties: {
    httpGet: {
      type: 'object',
      required: ['path', 'port'],
      properties: { path: { type: 'string', pattern: '^/(livez|readyz)$' } },
    },
  },
};
const container = {
  type: 'object',
  required: [
    'name',
    'image',
    'args',
    'env',
    'ports',
    'resources',
    'livenessProbe',
    'readinessProbe',
    'securityContext',
  ],
  properties: {
    image: { type: 'string', pattern: '^[^\\s:]+:[^\\s:]+$' },
    args: { type: 'array', items: text },
    env: {
      type: 'array',
      items: { type: 'object', required: ['name', 'value'], properties: { name: text, value: { type: 'string' } } },
    },
    resources: {
      type: 'object',
      required: ['requests', 'limits'],
      properties: { requests: quantities, limits: quantities },
    },
    livenessProbe: probe,
    readinessProbe: probe,
    startupProbe: probe,
    securityContext: {
      type: 'object',
      properties: { allowPrivilegeEscalation: { const: false }, readOnlyRootFilesystem: { const: true } },
      required: ['allowPrivilegeEscalation', 'readOnlyRootFilesystem'],
    },
  },
};
/** Finds manifests of the chart that Kubernetes would refuse. */
const specs: Readonly<Record<string, object>> = {
  Deployment: {
    type: 'object',
    required: ['replicas', 'selector', 'template'],
    properties: {
      replicas: { type: 'integer', minimum: 0 },
      selector: { type: 'object', required: ['matchLabels'] },
      template: {
        type: 'object',
        required: ['metadata', 'spec'],
        properties: {
          spec: {
            type: 'object',
            required: ['containers', 'terminationGracePeriodSeconds', 'securityContext'],
            properties: {
              terminationGracePeriodSeconds: { type: 'integer', minimum: 15 },
              containers: { type: 'array', minItems: 1, items: container },
            },
          },
        },
      },
    },
  },
  Service: {
    type: 'object',
    required: ['selector', 'ports'],
    properties: { ports: { type: 'array', items: { type: 'object', required: ['port', 'targetPort'] } } },
  },
  PodDisruptionBudget: { type: 'object', required: ['maxUnavailable', 'selector'] },
  PodMonitor: { type: 'object', required: ['selector', 'podMetricsEndpoints'] },
};
const versions: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  Service: 'v1',
  PodDisruptionBudget: 'policy/v1',
  PodMonitor: 'monitoring.coreos.com/v1',
};

function checkManifests(manifests: readonly Manifest[]): void {
  const ajv = new Ajv({ allowUnionTypes: true, strictRequired: false });
  for (const { apiVersion, kind, metadata, spec } of manifests) {
    expect([kind, apiVersion]).toEqual([kind, versions[kind]]);
    expect(metadata.name).toMatch(/^[a-z0-9-]{1,63}$/);
    const check = ajv.compile(specs[kind] ?? false);
    expect(check(spec) ? [] : check.errors, `${kind} ${metadata.name}`).toEqual([]);
  }
}

const of = (manifests: readonly Manifest[], kind: string): readonly Manifest[] =>
  manifests.filter((each) => each.kind === kind);

/** Every value that the chart leaves empty. */
const ownValues = {
  volumes: [{ name: 'kafka-ca', secret: { secretName: 'kafka-ca' } }],
  volumeMounts: [{ name: 'kafka-ca', mountPath: '/etc/kafka', readOnly: true }],
  serviceAccountName: 'uses-the-bucket',
  imagePullSecrets: [{ name: 'registry' }],
  nodeSelector: { pool: 'events' },
  tolerations: [{ key: 'events', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  podMonitor: true,
};

/** `path` into plain JSON. */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((found, name) => (found as Json | undefined)?.[name], value);
}

describe('the chart', () => {
  const manifests = renderByHand();

  it('renders valid manifests, one deployment per role', () => {
    checkManifests(manifests);
    const components = of(manifests, 'Deployment').map(
      (each) => each.metadata.labels['app.kubernetes.io/component'] ?? '',
    );
    expect(components.toSorted()).toEqual(roles.toSorted());
    for (const each of of(manifests, 'Deployment')) {
      const labels = at(each.spec, 'template', 'metadata', 'labels');
      expect(labels).toEqual(at(each.spec, 'selector', 'matchLabels'));
      expect(at(each.spec, 'template', 'spec', 'containers', 0, 'args')).toEqual([
        'serve',
        '--roles',
        each.metadata.labels['app.kubernetes.io/component'],
      ]);
    }
    expect(of(manifests, 'Service').map(({ metadata }) => metadata.name)).toEqual(['millrace-api', 'millrace-capture']);
  });

  it('uses existing settings with which every role starts', () => {
    for (const each of of(manifests, 'Deployment')) {
      const env = at(each.spec, 'template', 'spec', 'containers', 0, 'env') as readonly {
        name: string;
        value: string;
      }[];
      expect(env.filter(({ name }) => !known.has(name))).toEqual([]);
      const role = each.metadata.labels['app.kubernetes.io/component'] ?? '';
      const secrets = { DATABASE_URL: 'postgres://db/m', CLICKHOUSE_URL: 'http://ch:8123/m', MILLRACE_ROLES: role };
      const given = Object.fromEntries(env.map(({ name, value }) => [name, value]));
      expect(rolesProblem(loadSettings({ env: { ...given, ...secrets } }).settings)).toBeUndefined();
    }
  });

  it('gives a pod enough time to stop', () => {
    for (const each of of(manifests, 'Deployment')) {
      const env = at(each.spec, 'template', 'spec', 'containers', 0, 'env') as readonly {
        name: string;
        value: string;
      }[];
      const drainMs = Number(env.find(({ name }) => name === 'MILLRACE_DRAIN_MS')?.value);
      const graceMs = Number(at(each.spec, 'template', 'spec', 'terminationGracePeriodSeconds')) * 1000;
      expect(graceMs).toBeGreaterThan(drainMs + 10_000);
    }
  });

  it('accepts files, a service account and placement of its pods, and renders a PodMonitor on request', () => {
    const own = renderByHand(ownValues);
    checkManifests(own);
    const { volumes, volumeMounts, podMonitor: _, ...ofPod } = ownValues;
    for (const each of of(own, 'Deployment')) {
      const pod = at(each.spec, 'template', 'spec');
      expect(pod).toMatchObject(ofPod);
      expect(at(pod, 'volumes')).toEqual(expect.arrayContaining(volumes));
      expect(at(pod, 'containers', 0, 'volumeMounts')).toEqual(expect.arrayContaining(volumeMounts));
      expect(at(pod, 'topologySpreadConstraints', 0, 'labelSelector')).toEqual(at(each.spec, 'selector'));
    }
    const [monitor] = of(own, 'PodMonitor');
    const [deployment] = of(own, 'Deployment');
    const labels = at(deployment?.spec, 'template', 'metadata', 'labels');
    expect(labels).toMatchObject(at(monitor?.spec, 'selector', 'matchLabels') as object);
    const port = at(deployment?.spec, 'template', 'spec', 'containers', 0, 'ports', 0, 'name');
    expect(at(monitor?.spec, 'podMetricsEndpoints')).toEqual([{ port, path: '/metrics' }]);
    expect(of(manifests, 'PodMonitor')).toEqual([]);
  });

  it('has a Secret in the guide with every secret that a role needs for its servers', () => {
    const [, command = ''] = /^(kubectl create secret[^]*?)^helm/m.exec(read('docs/guides/scale-out.md')) ?? [];
    const names = [...command.matchAll(/--from-literal=([A-Z_]+)=/g)].map(([, name = '']) => name);
    const { databaseUrl, clickhouseUrl, kafkaUser, kafkaPassword } = settingDefinitions;
    const { importStagingAccessKeyId, importStagingSecretAccessKey } = settingDefinitions;
    const needed = [databaseUrl, clickhouseUrl, importStagingAccessKeyId, importStagingSecretAccessKey, kafkaUser];
    expect(names).toEqual([...needed, kafkaPassword].map(({ env }) => env));
  });

  it.skipIf(!helm)(
    `is taken by helm itself, which makes the same of it${helm ? '' : ' (skipped: helm is not installed)'}`,
    () => {
      const sorted = (list: readonly Manifest[]) =>
        list.toSorted((a, b) => (a.kind + a.metadata.name < b.kind + b.metadata.name ? -1 : 1));
      for (const values of [{}, ownValues]) {
        const rendered = renderByHelm(values);
        checkManifests(rendered);
        expect(sorted(rendered)).toEqual(sorted(renderByHand(values)));
      }
    },
  );
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
