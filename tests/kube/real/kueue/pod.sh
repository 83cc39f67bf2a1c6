# Runs Kueue's manager as its Deployment would: the paths of its pod, and nothing else of this machine's files.
# pod.sh FOLDER MANAGER ARGUMENTS...; FOLDER holds what the pod mounts: account, certs, config.yaml.
set -e
folder=$1 manager=$2
shift 2
root=$folder/root
account=$root/var/run/secrets/kubernetes.io/serviceaccount
certs=$root/tmp/k8s-webhook-server/serving-certs
mkdir -p "$root"
mount -t tmpfs none "$root"
mkdir -p "$account" "$certs" "$root/visibility" "$root/proc" "$root/etc"
mount --bind "$folder/account" "$account"
mount --bind "$folder/certs" "$certs"
mount --rbind /proc "$root/proc"
mount --bind /etc "$root/etc"
cp "$folder/config.yaml" "$root/controller_manager_config.yaml"
touch "$root/manager"
mount --bind "$manager" "$root/manager"
exec chroot "$root" /manager "$@"
