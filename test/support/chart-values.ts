import { parse } from 'yaml';
import { read } from '../source-tree.ts';
import type { Values } from './render-chart.ts';

/** Changes every value of the chart that has no effect by default. */
const everyValue: Values = {
  image: { repository: 'registry.example.com/millrace', tag: '0.1.0', digest: `sha256:${'0a'.repeat(32)}` },
  imagePullSecrets: [{ name: 'registry' }],
  extraEnv: [{ name: 'MILLRACE_SMTP_URL', valueFrom: { secretKeyRef: { name: 'mail', key: 'url' } } }],
  volumes: [{ name: 'kafka-ca', secret: { secretName: 'kafka-ca' } }],
  volumeMounts: [{ name: 'kafka-ca', mountPath: '/etc/kafka', readOnly: true }],
  dataVolume: { emptyDir: { sizeLimit: '20Gi' } },
  serviceAccount: { create: true, name: 'uses-the-bucket', annotations: { 'example.com/role': 'bucket: "é"' } },
  podLabels: { team: 'events' },
  podAnnotations: { 'example.com/on': 'yes' },
  priorityClassName: 'high',
  nodeSelector: { pool: 'events' },
  tolerations: [{ key: 'events', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  podMonitor: true,
  prometheusRule: true,
  runbooksUrl: 'https://wiki.example.com/runbooks',
  ingress: {
    enabled: true,
    className: 'nginx',
    annotations: { 'example.com/body': '20m' },
    host: 'events.example.com',
    tlsSecret: 'tls',
  },
  networkPolicy: {
    enabled: true,
    clients: [{ ipBlock: { cidr: '192.0.2.0/24' } }],
    egress: [{ to: [{ ipBlock: { cidr: '198.51.100.0/24' } }] }],
  },
  roles: {
    capture: { autoscaling: { by: 'cpu' } },
    pipeline: { replicas: 3, autoscaling: { by: 'lag' } },
  },
};

/** Values with which the chart is rendered and linted. */
export const chartValues: Readonly<Record<string, Values>> = {
  'the default values': {},
  'the example of production': parse(read('deploy/helm/examples/production.yaml')) as Values,
  'every value changed': everyValue,
  'autoscaling by the consumer group': {
    lag: { from: 'kafka', kafka: { bootstrapServers: 'kafka-0:9093,kafka-1:9093', authentication: 'kafka' } },
    roles: { pipeline: { autoscaling: { by: 'lag' } } },
  },
};
