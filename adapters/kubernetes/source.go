package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	clientgo "k8s.io/client-go/kubernetes"
	lister "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel-go/evenkeel/discover"
)

// Source is the endpoints of one Service. It watches them from NewSource until Close. It
// is safe for concurrent use, and several Followers may share it.
type Source struct {
	cfg    Config
	name   string // of the Service, for errors
	slices lister.EndpointSliceLister
	synced cache.InformerSynced
	stop   context.CancelFunc
	over   chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	trouble error         // of the watch, the latest
}

var _ discover.Source[string] = (*Source)(nil)

// NewSource begins to watch the EndpointSlices of a Service. It does not wait for them: a
// Lookup does. The error matches evenkeel.ErrBadConfig.
func NewSource(client clientgo.Interface, namespace, service string, cfg Config) (*Source, error) {
	if client == nil || namespace == "" || service == "" {
		return nil, badConfig("NewSource needs a client, a namespace and the name of a Service")
	}
	selector := labels.Set{discovery.LabelServiceName: service}.String()
	informer := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *meta.ListOptions) { o.LabelSelector = selector }),
	).Discovery().V1().EndpointSlices()
	ctx, stop := context.WithCancel(context.Background())
	s := &Source{
		cfg: cfg, name: namespace + "/" + service,
		slices: informer.Lister(), synced: informer.Informer().HasSynced,
		stop: stop, over: make(chan struct{}), changed: make(chan struct{}),
	}
	note := func(any) { s.note() }
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(any, any) { s.note() }, DeleteFunc: note,
	})
	err = errors.Join(err, informer.Informer().SetWatchErrorHandlerWithContext(
		func(_ context.Context, _ *cache.Reflector, err error) { s.failed(err) }))
	if err != nil { // only an informer that has been started or stopped gives one
		stop()
		return nil, err
	}
	go func() {
		defer close(s.over)
		informer.Informer().RunWithContext(ctx)
	}()
	return s, nil
}

// note tells who waits for a change that there is one.
func (s *Source) note() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// failed keeps the error of a list or a watch. The informer tries again by itself.
func (s *Source) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = err
}

// now returns the channel that the next change closes, and the latest error of the watch.
func (s *Source) now() (changed chan struct{}, trouble error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed, s.trouble
}

// Lookup implements discover.Source. The first one waits for the API server.
func (s *Source) Lookup(ctx context.Context) (discover.Answer[string], error) {
	if !cache.WaitForCacheSync(ctx.Done(), s.synced) {
		_, trouble := s.now()
		return discover.Answer[string]{}, fmt.Errorf("the EndpointSlices of Service %s are not known yet: %w", s.name,
			errors.Join(trouble, context.Cause(ctx)))
	}
	changed, _ := s.now() // before the slices: what changes meanwhile counts
	all, err := s.slices.List(labels.Everything())
	if err != nil {
		return discover.Answer[string]{}, err
	}
	answer := s.cfg.members(all)
	answer.Changed = changed
	return answer, nil
}

// Close ends the watch and waits for that. Lookups go on with what was known last.
func (s *Source) Close() {
	s.stop()
	<-s.over
}
