/** Where the kubelet puts a Pod's token and the cluster's CA. */
export const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'
